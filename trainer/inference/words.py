"""Words of sentences of subwords: which word each token is part of, their links and confidence.

Words are what ASCII whitespace separates in a text, counted from 0: those of Pharaoh's format.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

_SPACE = " \t\n\r\f\v"
NO_WORD = -1


class WordCounter:
    """Counts words along the tokens of a vocabulary, within a graph."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Reads where words begin in `texts`, the text that each id adds to a sentence."""
        # NumPy: constants of whichever graph calls this.
        self._words_after_space = np.array([_count_words_after_space(text) for text in texts])
        self._begins_in_word = np.array([text[:1] not in _SPACE for text in texts])
        self._ends_in_space = np.array([text != "" and text[-1] in _SPACE for text in texts])
        self._is_blank = np.array([not text.strip(_SPACE) for text in texts])
        self._is_empty = np.array([not text for text in texts])

    def word_of_tokens(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the number of each token's first word, int32 `[B, T]`; `NO_WORD` for none.

        A token of spaces alone is part of the word after it.

        Example:
            "▁a ▁dog s" gives 0, 1, 1; so does "▁a ▁ dogs".

        Args:
            ids: int32 `[B, T]`; those that add no text are at the end.
        """
        ends_in_space = tf.gather(self._ends_in_space, ids)
        after_space = tf.concat([tf.ones_like(ids[:, :1], tf.bool), ends_in_space[:, :-1]], axis=1)
        begins_in_word = tf.gather(self._begins_in_word, ids)
        begun = tf.gather(self._words_after_space, ids)
        begun += tf.cast(begins_in_word & after_space, tf.int32)
        words = tf.cumsum(begun, axis=1, exclusive=True)
        words -= tf.cast(begins_in_word & ~after_space, tf.int32)
        trailing = words >= tf.reduce_sum(begun, axis=1, keepdims=True)
        nowhere = tf.gather(self._is_empty, ids) | (tf.gather(self._is_blank, ids) & trailing)
        return tf.where(nowhere, NO_WORD, words)


def link_words(attention: tf.Tensor, source_words: tf.Tensor, target_words: tf.Tensor) -> tf.Tensor:
    """Links each target word with the source word that its tokens attend to most.

    Attention to a source word is the sum over its tokens; that to the end symbol does not count.

    Args:
        attention: float `[B, T, S]`, of target tokens to source tokens.
        source_words: int32 `[B, S]`, from `word_of_tokens`.
        target_words: int32 `[B, T]`, from `word_of_tokens`.

    Returns:
        string `[B]`, in Pharaoh's format: "0-0 2-1" links the source's first word with the
        target's first and the source's third with the target's second.
    """
    source, target = _one_hot(source_words), _one_hot(target_words)  # [B, S, WS], [B, T, WT]
    by_word = tf.matmul(tf.matmul(target, attention, transpose_a=True), source)  # [B, WT, WS]
    linked = tf.argmax(by_word, axis=2, output_type=tf.int32)  # [B, WT]
    places = tf.broadcast_to(tf.range(tf.shape(linked)[1]), tf.shape(linked))
    links = tf.strings.join([tf.strings.as_string(linked), tf.strings.as_string(places)], "-")
    both = (places < _count(target_words)) & (_count(source_words) > 0)
    return tf.strings.reduce_join(tf.ragged.boolean_mask(links, both), axis=-1, separator=" ")


def word_confidence(log_probs: tf.Tensor, target_words: tf.Tensor) -> tf.Tensor:
    """Returns the probability of each word: the product of those of its tokens.

    Args:
        log_probs: float `[B, T]`, nats, of target tokens.
        target_words: int32 `[B, T]`, from `word_of_tokens`.

    Returns:
        float `[B, W]`; 0 beyond a sentence's words. W is at least 1.
    """
    target = _one_hot(target_words)  # [B, T, W]
    sums = tf.einsum("bt,btw->bw", log_probs, target)
    is_word = tf.range(tf.shape(sums)[1]) < _count(target_words)
    return tf.where(is_word, tf.exp(sums), 0.0)


def _count_words_after_space(text: str) -> np.int32:
    """Counts the words that begin after a space: 2 in " a b", 1 in "a b"."""
    spaces = [character in _SPACE for character in text]
    begins = (before and not now for before, now in itertools.pairwise(spaces))
    return np.int32(sum(begins))


def _one_hot(words: tf.Tensor) -> tf.Tensor:
    """Returns float32 `[B, T, max(1, words)]`, all 0 for `NO_WORD`."""
    return tf.one_hot(words, tf.maximum(1, tf.reduce_max(_count(words))))


def _count(words: tf.Tensor) -> tf.Tensor:
    """Counts the words of each sentence: int32 `[B, 1]`, at least 0."""
    return 1 + tf.reduce_max(words, axis=1, keepdims=True)
