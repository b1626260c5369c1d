"""Text to text in one graph: tokenization, encoder, beam search, detokenization (§6.1).

Evaluation, `trainer.translate` and the exported SavedModel all run this module, so they give the
same translations. Any bytes are accepted: invalid UTF-8 becomes U+FFFD, a sentence longer than
`SearchConfig.max_source_length` is cut, and a blank sentence has a blank translation.
"""

import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from model.alignment import TokenAlignment, align_tokens
from model.config import AlignmentConfig, SearchConfig
from model.search.ensemble import average_log_probs
from model.search.penalties import length_penalty
from model.search.search import Translations
from model.transformer import Transformer
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags
from pipeline.dataset.schema import END_ID, PADDING_ID, SIDES
from trainer.inference.tokenization import TextOps, count_ids, cut_ids, load_text_ops
from trainer.runs.checkpoint_files import Checkpoint, find_checkpoint
from trainer.runs.checkpoints import load_weights
from trainer.runs.run_dataset import check_languages
from trainer.runs.run_directory import Run, load_run
from trainer.runs.trained_model import TrainedModel

Tensors = dict[str, tf.Tensor]
_DEFAULT_ALIGNMENT = AlignmentConfig()


def _texts(name: str) -> tf.TensorSpec:
    return tf.TensorSpec([None], tf.string, name=name)


def _ids(name: str) -> tf.TensorSpec:
    return tf.TensorSpec([None, None], tf.int32, name=name)


class Translator(tf.Module):
    """A trained model from text to text; its methods on text are the signatures of a SavedModel.

    They share `search_best`, `search_n_best`, `token_log_probs` and `align_ids`: large graphs, and
    the only ones that read the weights. B is the number of sentences, 0 or more, and N is `n_best`.
    """

    def __init__(
        self,
        transformer: Transformer,
        source_ops: TextOps,
        target_ops: TextOps,
        search: SearchConfig,
        ensemble: Sequence[Transformer] = (),
        *,
        alignment_layer: int = 0,
    ) -> None:
        """Joins a model, both sides' subwords, the search and the ensemble's other models."""
        super().__init__(name="translator")
        self.transformer = transformer
        self.source_ops = source_ops
        self.target_ops = target_ops
        self.search = search
        self.ensemble = list(ensemble)
        self.alignment_layer = alignment_layer

    @property
    def models(self) -> list[Transformer]:
        """The model and the other models of an ensemble."""
        return [self.transformer, *self.ensemble]

    @property
    def n_best(self) -> int:
        """The number of translations of a sentence where several are returned."""
        return self.search.n_best if self.search.n_best > 1 else self.search.beam_size

    @tf.function(input_signature=[_texts("text")], autograph=False)
    def translate(self, text: tf.Tensor) -> Tensors:
        """Translates sentences.

        Args:
            text: string `[B]`, UTF-8, one sentence in each row.

        Returns:
            `translation`, string `[B]`, the best hypothesis; `score`, float32 `[B]`, its
            log-probability in nats divided by the length penalty; `source_tokens_cut`, int32
            `[B]`, the subwords cut off the end of a sentence that was too long. A parser's
            translation is a bracketed tree over the words of the sentence, and `is_repaired`, bool
            `[B]`, says whether the hypothesis was none.
        """
        return self._translate(text, tf.zeros((tf.size(text), 1), tf.int32))

    @tf.function(input_signature=[_texts("text"), _texts("prefix")], autograph=False)
    def translate_with_prefix(self, text: tf.Tensor, prefix: tf.Tensor) -> Tensors:
        """Translates sentences into translations that begin with a prefix.

        Args:
            text: string `[B]`, UTF-8, one sentence in each row.
            prefix: string `[B]`, the beginning of each translation, preferably whole words; a
                blank prefix does not constrain it. At most `max_source_length` subwords are used.

        Returns:
            as `translate`; the prefix is part of the translation.
        """
        check_same_number(text, prefix)
        ids = self.target_ops.tokenize(prefix)[:, : self.search.max_source_length]
        return self._translate(text, tf.where(ids == END_ID, PADDING_ID, ids))

    @tf.function(input_signature=[_texts("text")], autograph=False)
    def translate_nbest(self, text: tf.Tensor) -> Tensors:
        """Translates each sentence into its N best translations.

        Args:
            text: string `[B]`, UTF-8, one sentence in each row.

        Returns:
            `translations`, string `[B, N]`, best first, and their `scores`, float32 `[B, N]`; if
            fewer than N exist, the others are empty and have a score of −10⁹; `source_tokens_cut`
            and of trees `is_repaired`, `[B, N]`, as in `translate`.
        """
        source, cut = self.source_ids(text)
        hypotheses = self.search_n_best(source)
        shape = tf.shape(hypotheses.scores)  # [B, N]
        length = tf.shape(hypotheses.tokens)[2]
        tokens = tf.reshape(hypotheses.tokens, (shape[0] * shape[1], length))  # [B·N, T]
        outputs = self.target_ops.translations(tokens, tf.repeat(text, shape[1]))
        translations = tf.reshape(outputs.pop("translation"), shape)
        return {
            "translations": translations,
            "scores": hypotheses.scores,
            "source_tokens_cut": cut,
            **{name: tf.reshape(values, shape) for name, values in outputs.items()},
        }

    @tf.function(input_signature=[_texts("text"), _texts("translation")], autograph=False)
    def score_pairs(self, text: tf.Tensor, translation: tf.Tensor) -> Tensors:
        """Scores given translations, without search: the signature `score`.

        Args:
            text: string `[B]`, UTF-8, one sentence in each row.
            translation: string `[B]`, a translation of each sentence.

        Returns:
            `log_probability`, float32 `[B]`, in nats; `tokens`, int32 `[B]`, the number of tokens
            of the translation, end symbol included; `score`, float32 `[B]`, the log-probability
            divided by the length penalty, as in search without a coverage penalty. A translation
            longer than search can produce is cut before it is scored.
        """
        check_same_number(text, translation)
        target = self.target_ids(translation)
        source, _ = self.source_ids(text)
        log_probability = tf.reduce_sum(self.token_log_probs(source, target), axis=1)
        tokens = count_ids(target)
        return {
            "log_probability": log_probability,
            "tokens": tokens,
            "score": log_probability / length_penalty(tokens, self.search),
        }

    @tf.function(input_signature=[_ids("tokens")], autograph=False)
    def translate_ids(self, tokens: tf.Tensor) -> Tensors:
        """Translates ids into ids, for servers without the TensorFlow Text ops.

        Args:
            tokens: int32 `[B, S]`, the ids of each sentence and the end symbol. What follows it is
                ignored: TF Serving pads requests that it joins with the first id of each.

        Returns:
            `translations`, int32 `[B, N, T]`, best first, each with the end symbol, then padding;
            `scores`, float32 `[B, N]`.
        """
        ended = tf.cumsum(tf.cast(tokens == END_ID, tf.int32), axis=1, exclusive=True)
        hypotheses = self.search_ids(tf.where(ended > 0, PADDING_ID, tokens))
        return {"translations": hypotheses.tokens, "scores": hypotheses.scores}

    def source_ids(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the ids of sentences, int32 `[B, S]`, and how many were cut off each, `[B]`."""
        return cut_ids(self.source_ops.tokenize(text), self.search.max_source_length)

    def target_ids(self, translation: tf.Tensor) -> tf.Tensor:
        """Returns the ids of given translations, cut to the longest that search can produce."""
        longest = self.search.max_source_length + self.search.extra_length
        return cut_ids(self.target_ops.tokenize(translation), longest)[0]

    def search_ids(self, source: tf.Tensor) -> Translations:
        """Searches for translations of ids, int32 `[B, S]`, each with the end symbol."""
        return self.search_n_best(cut_ids(source, self.search.max_source_length)[0])

    @tf.function(input_signature=[_ids("source"), _ids("prefix")], autograph=False)
    def search_best(self, source: tf.Tensor, prefix: tf.Tensor) -> Translations:
        """Searches for the best translation of each sentence; see `Transformer.search`."""
        return self._search(source, n_best=1, prefix=prefix)

    @tf.function(input_signature=[_ids("source")], autograph=False)
    def search_n_best(self, source: tf.Tensor) -> Translations:
        """Searches for the N best translations of each sentence; see `Transformer.search`."""
        return self._search(source, n_best=self.n_best)

    @tf.function(input_signature=[_ids("source"), _ids("target")], autograph=False)
    def token_log_probs(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        """Scores given translations, int32 `[B, T]`; see `Transformer.token_log_probs`.

        An ensemble's probabilities are averaged, as in search.
        """
        return average_log_probs([model.token_log_probs(source, target) for model in self.models])

    @tf.function(input_signature=[_ids("source"), _ids("target")], autograph=False)
    def align_ids(self, source: tf.Tensor, target: tf.Tensor) -> TokenAlignment:
        """Aligns given translations, int32 `[B, T]`; see `model.alignment.align_tokens`.

        An ensemble's probabilities and its attention are averaged.
        """
        layer = self.alignment_layer
        aligned = [align_tokens(model, source, target, layer=layer) for model in self.models]
        log_probs = average_log_probs([tokens.log_probs for tokens in aligned])
        attention = tf.reduce_mean([tokens.attention for tokens in aligned], axis=0)
        return TokenAlignment(log_probs, attention)

    def _search(
        self, source: tf.Tensor, *, n_best: int, prefix: tf.Tensor | None = None
    ) -> Translations:
        config = dataclasses.replace(self.search, n_best=n_best)
        return self.transformer.search(source, config, prefix=prefix, ensemble=self.ensemble)

    def _translate(self, text: tf.Tensor, prefix: tf.Tensor) -> Tensors:
        source, cut = self.source_ids(text)
        best = self.search_best(source, prefix)
        return {
            **self.target_ops.translations(best.tokens[:, 0], text),
            "score": best.scores[:, 0],
            "source_tokens_cut": cut,
        }


def check_same_number(text: tf.Tensor, other: tf.Tensor) -> None:
    """Checks, within a graph, that two inputs have as many strings."""
    expected = "expected as many strings in one input as in the other: they belong together by row"
    tf.debugging.assert_equal(tf.size(text), tf.size(other), expected)


def make_transformer(run: Run) -> Transformer:
    """Makes a run's model with newly initialised weights."""
    source, target = (run.data.vocabularies[side] for side in SIDES)
    return Transformer(
        run.transformer,
        target.size,
        source_vocabulary_size=None if source == target else source.size,
    )


def make_translator(
    run: Run,
    transformer: Transformer,
    ensemble: Sequence[Transformer] = (),
    *,
    alignment: AlignmentConfig = _DEFAULT_ALIGNMENT,
) -> Translator:
    """Makes a translator from a model, with the subwords and the search of its run."""
    paths = [run.subwords_path(side) for side in SIDES]
    ops = {path: load_text_ops(path) for path in {*paths}}  # one for a shared vocabulary
    return Translator(
        transformer,
        ops[paths[0]],
        ops[paths[1]],
        run.search,
        ensemble,
        alignment_layer=alignment.alignment_layer,
    )


def load_translator(
    run: Run,
    model: TrainedModel,
    config: SearchConfig,
    *,
    alignment: AlignmentConfig = _DEFAULT_ALIGNMENT,
) -> tuple[Translator, Checkpoint]:
    """Loads a run's model, and the other models of an ensemble, in float32 for search.

    Args:
        run: the first run.
        model: which checkpoint, and the runs of an ensemble.
        config: how to search.
        alignment: how to align words.

    Returns:
        the translator, and the checkpoint of the first run.

    Raises:
        UserError: a run has no such checkpoint, too few layers for the alignment, or other
            subwords or languages than the first.
    """
    members = [load_run(directory) for directory in model.run_dirs[1:]]
    for member in members:
        check_languages(run, member.directory, member.data)
        if member.data.vocabularies != run.data.vocabularies:
            raise UserError(
                f"--ensemble: {member.directory} has other subwords than {run.directory}; expected "
                "runs that were trained on the same dataset"
            )
    for aligned in (run, *members):
        _check_alignment(aligned, alignment)
    transformer, checkpoint = _load_transformer(run, model.checkpoint)
    ensemble = [_load_transformer(member, model.checkpoint)[0] for member in members]
    searching = dataclasses.replace(run, search=config)
    return make_translator(searching, transformer, ensemble, alignment=alignment), checkpoint


def _check_alignment(run: Run, alignment: AlignmentConfig) -> None:
    layers = run.transformer.depths.decoder
    if alignment.alignment_layer > layers:
        raise UserError(
            f"received {as_flags(alignment, 'alignment_layer')}: expected at most {layers}, the "
            f"layers of the decoder of {run.directory}"
        )


def _load_transformer(run: Run, checkpoint_name: str) -> tuple[Transformer, Checkpoint]:
    checkpoint = find_checkpoint(run.directory, checkpoint_name)
    transformer = make_transformer(run)
    load_weights(checkpoint, transformer)
    transformer.optimize_for_search()
    return transformer, checkpoint
