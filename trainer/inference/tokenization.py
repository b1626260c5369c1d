"""Subwords as TensorFlow ops, so that a served model is from text to text.

The ids equal those of `pipeline.subwords.encoding`; TF Serving links the TensorFlow Text ops.
"""

import abc
import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf
import tensorflow_text
from tensorflow_text.python.ops.sentencepiece_tokenizer import gen_sentencepiece_tokenizer

from pipeline.common.silence import silent_stderr
from pipeline.dataset.schema import END_ID, PADDING_ID, UNKNOWN_ID
from pipeline.subwords import wordpiece
from pipeline.subwords.encoding import BPE, SYMBOLS, WORDPIECE, kind_of, load_subwords, read_pieces
from trainer.inference.tree_ops import build_trees
from trainer.inference.words import WordCounter

_NO_TEXT = ""  # of padding and the end symbol
_UNKNOWN = " \u2047 "  # as SentencePiece decodes the unknown id


class TextOps(tf.Module, abc.ABC):
    """Text to ids and ids to text, within a graph."""

    def tokenize(self, text: tf.Tensor) -> tf.Tensor:
        """Returns the ids of text, string `[B]`, as int32 `[B, S]`, with end symbols."""
        ids = self._tokenize(normalize_text(text))
        end = tf.fill((tf.size(text), 1), END_ID)
        return tf.concat([ids, end], axis=1).to_tensor(PADDING_ID)

    def detokenize(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the text, string `[B]`, of ids, int32 `[B, T]`; end and padding give no text."""
        return self._detokenize(_ids_of_text(ids))

    def translations(self, ids: tf.Tensor, sentences: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the outputs of a model for sentences.

        Args:
            ids: int32 `[B, T]`, found by search.
            sentences: string `[B]`, the sources.

        Returns:
            `translation`, string `[B]`; of trees, also `is_repaired`, bool `[B]`.
        """
        return {"translation": self.detokenize(ids)}

    @functools.cached_property
    def words(self) -> WordCounter:
        """Counts the words of ids."""
        return WordCounter(self._texts())

    @abc.abstractmethod
    def _texts(self) -> list[str]:
        """Returns the text that each id adds to a sentence, with the space before a word."""

    @abc.abstractmethod
    def _tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Returns int32 ragged `[B, None]`."""

    @abc.abstractmethod
    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Returns string `[B]`."""


class BytePairOps(TextOps):
    """SentencePiece's ops."""

    def __init__(self, path: str) -> None:
        """Loads a SentencePiece model file, which becomes part of the graph."""
        super().__init__(name="byte_pairs")
        self._path = path
        model = Path(path).read_bytes()
        with silent_stderr():  # SentencePiece reports every model without a normalizer
            self._tokenizer = tensorflow_text.SentencepieceTokenizer(model, out_type=tf.int32)
            self._tokenizer._model_resource = _NamedModelResource(model)

    def _tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        return self._tokenizer.tokenize(text)

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return self._tokenizer.detokenize(ids)

    def _texts(self) -> list[str]:
        subwords = load_subwords(self._path)
        pieces = subwords.pieces(range(subwords.vocabulary_size))
        return [_NO_TEXT, _NO_TEXT, _UNKNOWN, *map(_text_of_byte_pair, pieces[UNKNOWN_ID + 1 :])]


class _NamedModelResource(tf.saved_model.experimental.TrackableResource):
    """A SentencePiece model as a resource with a name.

    TF Text's own resource has no name, so `keras.utils.set_random_seed` deletes it. Two of TF
    Text's private parts are used, for which there are no public ones: the op that creates the
    resource, and the tokenizer's attribute `_model_resource`, which holds it.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__()
        self._model = model
        _ = self.resource_handle  # creates the resource

    def _create_resource(self) -> tf.Tensor:
        name = hashlib.sha256(self._model).hexdigest()
        return gen_sentencepiece_tokenizer.sentencepiece_op(model=self._model, shared_name=name)


class WordpieceOps(TextOps):
    """WordPiece on words marked with "▁": `pipeline.subwords.wordpiece`."""

    def __init__(self, path: str) -> None:
        """Loads a vocabulary file, which becomes part of the graph."""
        super().__init__(name="wordpieces")
        pieces = read_pieces(path)
        self._tokenizer = wordpiece.tokenizer(pieces)
        self._piece_texts = tf.constant([wordpiece.text_of_piece(piece) for piece in pieces])

    def _tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        words = tf.strings.split(text)  # [B, words]; a split at " " would make "" a word
        marked = tf.ragged.map_flat_values(lambda word: wordpiece.MARK + word, words)
        ids = self._tokenizer.tokenize(marked)  # [B, words, pieces]
        return tf.cast(ids.merge_dims(1, 2), tf.int32)

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        texts = tf.ragged.map_flat_values(lambda id: tf.gather(self._piece_texts, id), ids)
        return tf.strings.regex_replace(tf.strings.reduce_join(texts, axis=-1), "^ +", "")

    def _texts(self) -> list[str]:
        texts = [text.decode() for text in self._piece_texts.numpy().tolist()]
        return [_NO_TEXT if id <= END_ID else text for id, text in enumerate(texts)]


class SymbolOps(TextOps):
    """The symbols of trees, each a piece: `pipeline.dataset.trees`."""

    def __init__(self, path: str) -> None:
        """Loads a vocabulary file, which becomes part of the graph."""
        super().__init__(name="symbols")
        self._pieces = tf.constant(read_pieces(path))

    def translations(self, ids: tf.Tensor, sentences: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns bracketed trees over the words of the sentences, repaired where necessary."""
        symbols = self._look_up_pieces(_ids_of_text(ids))
        trees, is_repaired = build_trees(symbols, normalize_text(sentences))
        exists = tf.reduce_any(ids != PADDING_ID, axis=1)  # fewer than N hypotheses may exist
        return {"translation": tf.where(exists, trees, ""), "is_repaired": is_repaired & exists}

    def _tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        return tf.ragged.map_flat_values(self._look_up, tf.strings.split(text))

    def _look_up(self, symbols: tf.Tensor) -> tf.Tensor:
        """Returns the ids, int32 `[n]`, of symbols, string `[n]`."""
        first = UNKNOWN_ID + 1  # the ids before are no symbols of a text
        matches = symbols[:, None] == self._pieces[first:]  # [n, V - first]
        found = first + tf.argmax(matches, axis=1, output_type=tf.int32)
        return tf.where(tf.reduce_any(matches, axis=1), found, UNKNOWN_ID)

    def _detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return tf.strings.reduce_join(self._look_up_pieces(ids), axis=-1, separator=" ")

    def _look_up_pieces(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        return tf.ragged.map_flat_values(lambda id: tf.gather(self._pieces, id), ids)

    def _texts(self) -> list[str]:
        pieces = [piece.decode() for piece in self._pieces.numpy().tolist()]
        return [_NO_TEXT if id <= END_ID else f" {piece}" for id, piece in enumerate(pieces)]


_CLASSES: dict[str, Callable[[str], TextOps]] = {
    BPE: BytePairOps,
    WORDPIECE: WordpieceOps,
    SYMBOLS: SymbolOps,
}


def load_text_ops(path: str | Path) -> TextOps:
    """Returns the ops for a file of subwords; its name says of which kind."""
    return _CLASSES[kind_of(path)](str(path))


def cut_ids(tokens: tf.Tensor, longest: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Cuts sentences of ids to at most `longest` tokens; the last one is the end symbol.

    Args:
        tokens: int32 `[B, S]`, each with the end symbol, then padding.
        longest: in tokens, at least 1.

    Returns:
        ids, int32 `[B, min(S, longest)]`, and the number of tokens cut off each, int32 `[B]`.
        `[[5, 6, 7, 1], [8, 1, 0, 0]]` cut to 3 gives `[[5, 6, 1], [8, 1, 0]]` and `[1, 0]`.
    """
    kept = tokens[:, :longest]
    cut = count_ids(tokens) - count_ids(kept)
    last = tf.range(tf.shape(kept)[1]) == longest - 1
    return tf.where(last & (cut > 0)[:, None], END_ID, kept), cut


def count_ids(tokens: tf.Tensor) -> tf.Tensor:
    """Counts the tokens of each sentence, int32 `[B]`, of ids `[B, S]`."""
    return tf.math.count_nonzero(tokens, axis=1, dtype=tf.int32)


def _ids_of_text(ids: tf.Tensor) -> tf.RaggedTensor:
    """Removes end symbols and padding."""
    return tf.ragged.boolean_mask(ids, ids > END_ID)


def _text_of_byte_pair(piece: str) -> str:
    """Returns the text of a SentencePiece piece; that of a byte tells whether it is a space."""
    byte = re.fullmatch("<0x([0-9A-F]{2})>", piece)
    return chr(int(byte[1], 16)) if byte else piece.replace(wordpiece.MARK, " ")


def normalize_text(text: tf.Tensor) -> tf.Tensor:
    """Normalizes as `cleaning.normalization.normalize`; invalid UTF-8 becomes U+FFFD."""
    valid = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
    composed = tensorflow_text.normalize_utf8(valid, "NFC")
    unmarked = tf.strings.regex_replace(composed, "\u2581", "_")
    return tf.strings.regex_replace(
        tf.strings.regex_replace(unmarked, r"[ \t\n\r\f\v]+", " "), "^ | $", ""
    )
