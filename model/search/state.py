"""The state of search between two positions, and how it is rearranged."""

from typing import Any, NamedTuple

import keras
from keras import ops

from model import Tensor
from model.masks import PADDING_ID
from model.search.candidates import Candidates, pick


class Cache(NamedTuple):
    """What the step callback is given at each position.

    past: a structure of tensors `[B, ·, E, ·]`, of entries that the W hypotheses have written, W at
        each position, then zeros. Search takes care of its length.
    fixed: a structure of tensors `[B, …]`, such as what is known of the source.
    """

    past: Any
    fixed: Any


class Lineage(NamedTuple):
    """Where in the past the hypotheses are.

    seen: bool `[B, W, E]`, the entries that a hypothesis is made of, that of this position too.
    written: int scalar, the entries before those of this position, a multiple of W.
    """

    seen: Tensor
    written: Tensor


class Sentences(NamedTuple):
    """What is given for each sentence."""

    number: Tensor  # int [B], its place in the batch that search began with
    length_limit: Tensor  # int [B]
    prefix: Tensor  # int [B, P]
    key: Tensor  # uint32 [B], what its random numbers are made of; zeros if it needs none


class Beam(NamedTuple):
    """Search between two positions: live hypotheses grow, finished ones have met the end symbol."""

    position: Tensor  # int scalar: tokens that every live hypothesis has
    written: Tensor  # int scalar: entries of the past, a multiple of W
    sentences: Sentences
    live_tokens: Tensor  # int [B, W, T]
    live_log_probs: Tensor  # float [B, W], best first
    live_coverage: Tensor  # float [B, W, S]
    seen: Tensor  # bool [B, W, E], the entries of earlier positions each is made of
    finished_tokens: Tensor  # int [B, N, T]
    finished_scores: Tensor  # float [B, N], penalised, best first
    cache: Cache


def last_tokens(beam: Beam) -> Tensor:
    """The newest token of each live hypothesis, int `[B, W]`; padding at position 0."""
    newest = ops.take(beam.live_tokens, ops.maximum(beam.position - 1, 0), axis=2)
    return ops.where(beam.position == 0, PADDING_ID, newest)


def extend(live_tokens: Tensor, candidates: Candidates, position: Tensor) -> Tensor:
    """Writes each candidate's token behind its parent's tokens: int `[B, N, T]`."""
    here = ops.arange(ops.shape(live_tokens)[2]) == position
    parents = pick(live_tokens, candidates.parents)
    return ops.where(here, candidates.tokens[:, :, None], parents)


def lineage(beam: Beam) -> Lineage:
    """Tells what the hypotheses go back to when the next position is being written."""
    _, width, room = ops.shape(beam.seen)
    own = ops.arange(room) == beam.written + ops.arange(width)[:, None]
    return Lineage(beam.seen | own, beam.written)


def next_round(beam: Beam, sentences: Tensor, positions: Tensor) -> Beam:
    """Lets some sentences go on, with no more of the past than their hypotheses go back to.

    Hypotheses soon share all but their last tokens: what is left is hardly more than one's past.

    Args:
        beam: at the end of a round.
        sentences: int `[N]`, which of them go on.
        positions: int scalar, how many more to make room for.
    """
    _, width, room = ops.shape(beam.seen)
    used = ops.any(ops.take(beam.seen, sentences, axis=0), axis=1)  # [N, E]
    most = ops.max(ops.append(ops.sum(ops.cast(used, "int32"), axis=1), 0))
    written = -(-most // width) * width
    used_first = ops.argsort(ops.where(used, 0, room) + ops.arange(room))[:, :written]

    def take_used(x: Tensor) -> Tensor:
        """Makes `[N, H, E, K]` of the next round of `[B, H, E, K]`."""
        heads, size = x.shape[1], x.shape[3]
        blocks = sentences[:, None] * heads + ops.arange(heads)  # of entries
        entries = blocks[:, :, None] * room + used_first[:, None, :]
        x = ops.take(ops.reshape(x, (-1, size)), entries, axis=0)
        return ops.pad(x, ((0, 0), (0, 0), (0, positions * width), (0, 0)))

    def take(x: Tensor) -> Tensor:
        return ops.take(x, sentences, axis=0)

    return Beam(
        position=beam.position,
        written=written,
        sentences=Sentences(*map(take, beam.sentences)),
        live_tokens=take(beam.live_tokens),
        live_log_probs=take(beam.live_log_probs),
        live_coverage=take(beam.live_coverage),
        seen=take_used(beam.seen[..., None])[..., 0],
        finished_tokens=take(beam.finished_tokens),
        finished_scores=take(beam.finished_scores),
        cache=Cache(
            past=keras.tree.map_structure(take_used, beam.cache.past),
            fixed=keras.tree.map_structure(take, beam.cache.fixed),
        ),
    )
