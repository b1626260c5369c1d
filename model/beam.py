"""The state of search between two positions, and how it is rearranged."""

from typing import Any, NamedTuple

import keras
from keras import ops

from model.candidates import Candidates, pick
from model.masks import PADDING_ID

Tensor = Any


class Cache(NamedTuple):
    """What the step callback is given at each position.

    past: a structure of tensors `[B, ·, T * W, ·]`, entry t * W + w for hypothesis w at position t,
        of which those up to `position` have been written, and the others are zeros. Search takes
        care of its length.
    fixed: a structure of tensors `[B, …]`, such as what is known of the source.
    """

    past: Any
    fixed: Any


class Sentences(NamedTuple):
    """What is given for each sentence."""

    number: Tensor  # int [B], its place in the batch that search began with
    length_limit: Tensor  # int [B]
    prefix: Tensor  # int [B, P]
    key: Tensor  # uint32 [B], what its random numbers are made of; zeros if it needs none


class Beam(NamedTuple):
    """Search between two positions: live hypotheses grow, finished ones have met the end symbol."""

    position: Tensor  # int scalar: tokens that every live hypothesis has
    sentences: Sentences
    live_tokens: Tensor  # int [B, W, T]
    live_log_probs: Tensor  # float [B, W], best first
    live_coverage: Tensor  # float [B, W, S]
    ancestors: Tensor  # int [B, W, T]; of the present position and later, the hypothesis itself
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


def make_room(beam: Beam, positions: int | Tensor) -> Beam:
    """Lengthens the past of a beam."""
    entries = positions * ops.shape(beam.ancestors)[1]

    def lengthen(x: Tensor) -> Tensor:
        return ops.pad(x, ((0, 0), (0, 0), (0, entries - ops.shape(x)[2]), (0, 0)))

    past = keras.tree.map_structure(lengthen, beam.cache.past)
    return beam._replace(cache=beam.cache._replace(past=past))


def take_sentences(beam: Beam, rows: Tensor) -> Beam:
    """Picks sentences, int `[N]`, out of a beam."""
    taken = keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), tuple(beam[1:]))
    return Beam(beam.position, *taken)
