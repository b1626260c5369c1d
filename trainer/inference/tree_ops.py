"""Trees from symbols within a graph (§6.3): `pipeline.dataset.tree_repair` as TensorFlow ops.

One step of a loop adds one symbol to every sentence of a batch. Brackets are strings, so that a
served model gives text.
"""

from typing import NamedTuple

import tensorflow as tf

from pipeline.dataset.trees import UNKNOWN_TAG, WRAPPER

_ROOT = f" ({WRAPPER}"


class _State(NamedTuple):
    """The trees so far, each field `[B]`.

    text: up to the last word, and the brackets closed since.
    pending: constituents opened since, such as " (VP (NP"; dropped if they get no word.
    labels: those of all open constituents, pending ones included, as in `pending`.
    pending_depth: number of pending constituents.
    depth: number of the other open constituents.
    tags: words that have a tag.
    is_repaired: whether a symbol was changed, added or dropped.
    """

    text: tf.Tensor
    pending: tf.Tensor
    labels: tf.Tensor
    pending_depth: tf.Tensor
    depth: tf.Tensor
    tags: tf.Tensor
    is_repaired: tf.Tensor


def build_trees(symbols: tf.RaggedTensor, sentences: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Builds one tree over the words of each sentence.

    Args:
        symbols: string `[B, None]`.
        sentences: string `[B]`, words with single spaces between them.

    Returns:
        bracketed trees, string `[B]`; whether each was repaired, bool `[B]`.
    """
    escaped = tf.strings.regex_replace(sentences, r"\(", "-LRB-")
    words = tf.strings.split(tf.strings.regex_replace(escaped, r"\)", "-RRB-"))
    counts = tf.cast(words.row_lengths(), tf.int32)
    words = tf.concat([words.to_tensor(""), tf.fill([tf.size(sentences), 1], "")], axis=1)
    symbols, is_short = _add_missing_tags(symbols, counts)
    blank, zero = tf.fill(tf.shape(sentences), ""), tf.zeros_like(counts)
    state = _State(blank, blank, blank, zero, zero, zero, is_short)
    # [T, B]
    state = tf.foldl(
        lambda state, symbol: _add(state, symbol, words, counts),
        tf.transpose(symbols.to_tensor("")),
        initializer=state,
    )
    unclosed = tf.where(tf.sequence_mask(state.depth), ")", "")
    text = tf.strings.join([state.text, tf.strings.reduce_join(unclosed, axis=1)])
    is_open = state.depth + state.pending_depth > 0
    return tf.strings.strip(text), state.is_repaired | is_open


def _add_missing_tags(
    symbols: tf.RaggedTensor, counts: tf.Tensor
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Returns the symbols, with an unknown tag for each word left, and whether one was, `[B]`."""
    is_tag = tf.ragged.map_flat_values(lambda flat: ~_matches(flat, r"[()].*"), symbols)
    tags = tf.reduce_sum(tf.cast(is_tag, tf.int32), axis=1)
    missing = tf.cast(tf.maximum(counts - tags, 0), symbols.row_splits.dtype)
    unknown = tf.fill([tf.reduce_sum(missing)], UNKNOWN_TAG)
    padding = tf.RaggedTensor.from_row_lengths(unknown, missing)
    return tf.concat([symbols, padding], axis=1), missing > 0


def _add(state: _State, symbol: tf.Tensor, words: tf.Tensor, counts: tf.Tensor) -> _State:
    """Adds one symbol, string `[B]`, to each tree; "" adds nothing."""
    opens, closes = _matches(symbol, r"\(.*"), _matches(symbol, r"\).*")
    is_tag = ~opens & ~closes & (symbol != "")
    state = _choose(is_tag, _add_tag(state, symbol, words, counts), state)
    state = _choose(closes, _end(state, symbol, counts), state)
    return _choose(opens, _begin(state, tf.strings.join([" ", symbol])), state)


def _begin(state: _State, opening: tf.Tensor | str) -> _State:
    return state._replace(
        pending=tf.strings.join([state.pending, opening]),
        labels=tf.strings.join([state.labels, opening]),
        pending_depth=state.pending_depth + 1,
    )


def _add_tag(state: _State, tag: tf.Tensor, words: tf.Tensor, counts: tf.Tensor) -> _State:
    is_surplus = state.tags == counts
    lacks_root = (state.depth + state.pending_depth == 0) & (counts > 1) & ~is_surplus
    rooted = _choose(lacks_root, _begin(state, _ROOT), state)
    word = tf.gather(words, state.tags, batch_dims=1)
    added = rooted._replace(
        text=tf.strings.join([rooted.text, rooted.pending, " (", tag, " ", word, ")"]),
        pending=tf.zeros_like(rooted.pending),
        depth=rooted.depth + rooted.pending_depth,
        pending_depth=tf.zeros_like(rooted.pending_depth),
        tags=rooted.tags + 1,
    )
    repaired = state.is_repaired | is_surplus | lacks_root
    return _choose(is_surplus, state, added)._replace(is_repaired=repaired)


def _end(state: _State, closing: tf.Tensor, counts: tf.Tensor) -> _State:
    open_brackets = state.depth + state.pending_depth
    is_surplus = (open_brackets == 0) | ((open_brackets == 1) & (state.tags < counts))
    is_empty = state.pending_depth > 0
    label = tf.strings.regex_replace(state.labels, r".* \(", ")")
    popped = state._replace(labels=_pop(state.labels))
    closed = popped._replace(text=tf.strings.join([state.text, ")"]), depth=state.depth - 1)
    dropped = popped._replace(pending=_pop(state.pending), pending_depth=state.pending_depth - 1)
    repaired = state.is_repaired | is_surplus | is_empty | (label != closing)
    ended = _choose(is_surplus, state, _choose(is_empty, dropped, closed))
    return ended._replace(is_repaired=repaired)


def _pop(openings: tf.Tensor) -> tf.Tensor:
    return tf.strings.regex_replace(openings, r" [^ ]*$", "")


def _choose(condition: tf.Tensor, state: _State, other: _State) -> _State:
    return _State(*(tf.where(condition, *pair) for pair in zip(state, other, strict=True)))


def _matches(symbols: tf.Tensor, pattern: str) -> tf.Tensor:
    return tf.strings.regex_full_match(symbols, pattern)
