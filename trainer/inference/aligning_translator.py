"""Translations with alignments: which source word each word of a translation came from."""

import tensorflow as tf

from trainer.inference.translator import Tensors, Translator, check_same_number
from trainer.inference.words import link_words, word_confidence

_TEXTS = tf.TensorSpec([None], tf.string, name="text")
_TRANSLATIONS = tf.TensorSpec([None], tf.string, name="translation")


class AligningTranslator(tf.Module):
    """A translator whose translations come with links of words and a confidence for each word.

    B is the number of sentences and N is `Translator.n_best`.
    """

    def __init__(self, translator: Translator) -> None:
        """Aligns what the translator gives, by its `align_ids`."""
        super().__init__(name="aligning_translator")
        self.translator = translator

    @tf.function(input_signature=[_TEXTS], autograph=False)
    def translate(self, text: tf.Tensor) -> Tensors:
        """Translates sentences and aligns the words of both sides.

        Args:
            text: string `[B]`, UTF-8, one sentence in each row.

        Returns:
            as `Translator.translate`; `alignment`, string `[B]`, in Pharaoh's format, such as
            "0-0 2-1" (`link_words`); `word_confidence`, float32 `[B, W]`, the probability of each
            word of the translation, then 0.
        """
        translator = self.translator
        source, cut = translator.source_ids(text)
        best = translator.search_best(source, tf.zeros((tf.size(text), 1), tf.int32))
        tokens = best.tokens[:, 0]
        return {
            **translator.target_ops.translations(tokens, text),
            "score": best.scores[:, 0],
            "source_tokens_cut": cut,
            **self._align(source, tokens),
        }

    @tf.function(input_signature=[_TEXTS], autograph=False)
    def translate_nbest(self, text: tf.Tensor) -> Tensors:
        """Translates each sentence into its N best translations and aligns each of them.

        Args:
            text: string `[B]`, UTF-8, one sentence in each row.

        Returns:
            as `Translator.translate_nbest`; `alignment`, string `[B, N]`, and `word_confidence`,
            float32 `[B, N, W]`, as in `translate`.
        """
        translator = self.translator
        source, cut = translator.source_ids(text)
        found = translator.search_n_best(source)
        batch, n_best, length = tf.unstack(tf.shape(found.tokens))
        tokens = tf.reshape(found.tokens, (batch * n_best, length))
        outputs = {
            **translator.target_ops.translations(tokens, tf.repeat(text, n_best)),
            **self._align(tf.repeat(source, n_best, axis=0), tokens),
        }
        outputs["translations"] = outputs.pop("translation")
        by_sentence = {
            name: tf.reshape(rows, tf.concat([[batch, n_best], tf.shape(rows)[1:]], axis=0))
            for name, rows in outputs.items()
        }
        return {**by_sentence, "scores": found.scores, "source_tokens_cut": cut}

    @tf.function(input_signature=[_TEXTS, _TRANSLATIONS], autograph=False)
    def align_pairs(self, text: tf.Tensor, translation: tf.Tensor) -> Tensors:
        """Aligns the words of given translations, without search.

        Args:
            text: string `[B]`, UTF-8, one sentence in each row.
            translation: string `[B]`, a translation of each sentence; one that is longer than
                search can produce is cut.

        Returns:
            `alignment` and `word_confidence`, as in `translate`.
        """
        check_same_number(text, translation)
        source, _ = self.translator.source_ids(text)
        return self._align(source, self.translator.target_ids(translation))

    def _align(self, source: tf.Tensor, target: tf.Tensor) -> Tensors:
        """Aligns the words of ids, int32 `[B, S]` and `[B, T]`."""
        tokens = self.translator.align_ids(source, target)
        target_words = self.translator.target_ops.words.word_of_tokens(target)
        source_words = self.translator.source_ops.words.word_of_tokens(source)
        return {
            "alignment": link_words(tokens.attention, source_words, target_words),
            "word_confidence": word_confidence(tokens.log_probs, target_words),
        }
