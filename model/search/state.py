"""The state of search between two positions, and its compaction.

Every step appends W entries to the decoder's cache, one for each live hypothesis, and never moves
earlier ones. When a hypothesis continues another one, only its row of `ancestors` changes: it marks
the entries, one for each earlier position, that the hypothesis attends to. Entries that no live
hypothesis marks are garbage; `compact` drops them, and finished sentences, every 32 positions.

A worked example with W = 2: one sentence after two positions. Entry 2 p + w was written at position
p by hypothesis w, for the token that the step received, so entries 0 and 1 are the start symbol's.
Its hypotheses were `[4]` and `[5]`; then both of the best continued `[5]`, and `[4]` died:

                          before compaction          after, with room for one position more
    live_tokens           [[5, 7],                   [[5, 7],
                           [5, 8]]                    [5, 8]]
    ancestors             [[1, 0, 0, 1],             [[1, 1, 0, 0],
                           [1, 0, 0, 1]]              [1, 1, 0, 0]]
    cache entries         [10, 11, 12, 13]           [10, 13, 0, 0]
    num_entries           4                          2

The next step writes its entries, of the tokens 7 and 8, where the zeros are: at 2 and 3.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from model import Tensor
from model.kernels.gather import batch_gather
from model.kernels.shapes import ceil_div
from model.kernels.tensorflow_ops import relax_shapes
from model.masks import END_ID, PADDING_ID
from model.search.candidates import Candidates


class Cache(NamedTuple):
    """What the step callback receives at each position.

    past: a structure of tensors `[B, ·, E, ·]`: entries that steps have written, W for each
        position, then zeros. Search makes room in it.
    fixed: a structure of tensors `[B, …]`, such as the encoded source.
    """

    past: Any
    fixed: Any


class Ancestry(NamedTuple):
    """Which entries of the cache a step reads and writes.

    ancestors: bool `[B, W, E]`, the entries that each hypothesis attends to: one for each earlier
        position, and its own of this position.
    num_entries: int scalar, entries before this position, a multiple of W. The step writes the W
        entries from there on.
    """

    ancestors: Tensor
    num_entries: Tensor


class Sentences(NamedTuple):
    """What stays the same for each sentence during search."""

    index: Tensor  # int [B], its row in the batch that search began with
    length_limit: Tensor  # int [B], tokens
    prefix: Tensor  # int [B, P]
    key: Tensor  # uint32 [B], seeds its random numbers; zeros for beam search


class Beam(NamedTuple):
    """Search between two positions: live hypotheses, and those that ended with the end symbol."""

    position: Tensor  # int scalar, tokens of every live hypothesis
    num_entries: Tensor  # int scalar, entries of the cache in use, a multiple of W
    sentences: Sentences
    live_tokens: Tensor  # int [B, W, T]
    live_log_probs: Tensor  # float [B, W], best first
    live_coverage: Tensor  # float [B, W, S]
    ancestors: Tensor  # bool [B, W, E], entries of earlier positions
    finished_tokens: Tensor  # int [B, N, T]
    finished_scores: Tensor  # float [B, N], penalized, best first
    cache: Cache


def last_tokens(beam: Beam) -> Tensor:
    """Returns the last token of each live hypothesis, int `[B, W]`; padding at position 0."""
    last = ops.take(beam.live_tokens, ops.maximum(beam.position - 1, 0), axis=2)  # [B, W]
    return ops.where(beam.position == 0, PADDING_ID, last)


def forced_tokens(beam: Beam) -> Tensor:
    """Returns the only token, int `[B]`, that may follow now; padding where any may."""
    prefix = beam.sentences.prefix  # [B, P]
    last = ops.shape(prefix)[1] - 1
    forced = ops.take(prefix, ops.minimum(beam.position, last), axis=1)  # [B]
    forced = ops.where(beam.position <= last, forced, PADDING_ID)
    return ops.where(beam.position + 1 >= beam.sentences.length_limit, END_ID, forced)


def append_tokens(live_tokens: Tensor, candidates: Candidates, position: Tensor) -> Tensor:
    """Writes each candidate's token after its parent's tokens: int `[B, N, T]`."""
    is_next = ops.arange(ops.shape(live_tokens)[2]) == position  # [T]
    parents = batch_gather(live_tokens, candidates.parents)  # [B, N, T]
    return ops.where(is_next, candidates.tokens[:, :, None], parents)


def current_ancestry(beam: Beam) -> Ancestry:
    """Returns the ancestry of the live hypotheses, with the entries about to be written."""
    _, width, capacity = ops.shape(beam.ancestors)
    own = ops.arange(capacity) == beam.num_entries + ops.arange(width)[:, None]  # [W, E]
    return Ancestry(beam.ancestors | own, beam.num_entries)


def relax_beam(beam: Beam) -> Beam:
    """Shape invariants of a beam: chunks change the numbers of sentences and of cache entries."""
    past = relax_shapes(beam.cache.past, 0, 2)  # [B, ·, E, ·]
    shapes = relax_shapes(beam, 0)
    return shapes._replace(
        ancestors=relax_shapes(beam.ancestors, 0, 2),  # [B, W, E]
        cache=shapes.cache._replace(past=past),
    )


def compact(beam: Beam, sentences: Tensor, new_positions: Tensor) -> Beam:
    """Keeps some sentences and the cache entries that their hypotheses attend to.

    The hypotheses of a sentence soon share all but their last tokens, so hardly more entries stay
    than one hypothesis has. The worked example above is of this function.

    Args:
        beam: of B sentences.
        sentences: int `[B']`, the sentences to keep.
        new_positions: int scalar, the positions to make room for, W entries each.
    """
    width = ops.shape(beam.ancestors)[1]
    entries, num_entries = _entries_in_use(ops.take(beam.ancestors, sentences, axis=0))
    room = new_positions * width

    def take(x: Tensor) -> Tensor:
        return ops.take(x, sentences, axis=0)  # [B, …] → [B', …]

    def take_entries(x: Tensor) -> Tensor:
        return _take_entries(x, sentences, entries, room=room)  # [B, ·, E, ·] → [B', ·, E', ·]

    return Beam(
        position=beam.position,
        num_entries=num_entries,
        sentences=Sentences(*map(take, beam.sentences)),
        live_tokens=take(beam.live_tokens),
        live_log_probs=take(beam.live_log_probs),
        live_coverage=take(beam.live_coverage),
        ancestors=take_entries(beam.ancestors[..., None])[..., 0],  # [B', W, E']
        finished_tokens=take(beam.finished_tokens),
        finished_scores=take(beam.finished_scores),
        cache=Cache(
            past=keras.tree.map_structure(take_entries, beam.cache.past),
            fixed=keras.tree.map_structure(take, beam.cache.fixed),
        ),
    )


def _entries_in_use(ancestors: Tensor) -> tuple[Tensor, Tensor]:
    """Lists the entries that any hypothesis of a sentence attends to, bool `[B', W, E]`.

    Returns:
        int `[B', M]` and M: each sentence's entries in use in their order, then others, as many as
        the sentence with most has, rounded up to a multiple of W.
    """
    _, width, capacity = ops.shape(ancestors)
    used = ops.any(ancestors, axis=1)  # [B', E]
    counts = ops.sum(ops.cast(used, "int32"), axis=1)  # [B']
    most = ops.max(ops.append(counts, 0))  # also of no sentences
    num_entries = ceil_div(most, width) * width
    used_first = ops.argsort(ops.where(used, 0, capacity) + ops.arange(capacity))  # [B', E]
    return used_first[:, :num_entries], num_entries


def _take_entries(x: Tensor, sentences: Tensor, entries: Tensor, *, room: Tensor) -> Tensor:
    """Takes entries, int `[B', M]`, of sentences, int `[B']`, and appends room for more.

    Args:
        x: `[B, H, E, K]`.
        sentences: int `[B']`.
        entries: int `[B', M]`, each sentence's.
        room: int scalar, entries of zeros to append.

    Returns:
        `[B', H, M + room, K]`.
    """
    heads, capacity, size = x.shape[1], ops.shape(x)[2], x.shape[3]
    blocks = sentences[:, None] * heads + ops.arange(heads)  # [B', H], rows of [B * H, E, K]
    rows = blocks[:, :, None] * capacity + entries[:, None, :]  # [B', H, M], of [B * H * E, K]
    x = ops.take(ops.reshape(x, (-1, size)), rows, axis=0)  # [B', H, M, K]
    return ops.pad(x, ((0, 0), (0, 0), (0, room), (0, 0)))
