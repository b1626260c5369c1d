"""Length buckets: few static shapes, little padding.

A batch of bucket `b` is padded to `b` source and `b` target positions, so a pair of longer side
`n` costs `2b` positions in the first bucket with `b ≥ n`. The boundaries that waste least are
found exactly, by dynamic programming over the histogram of `n`.
"""

import bisect
from collections.abc import Mapping, Sequence

DEFAULT_MAX_BUCKETS = 16


def choose_boundaries(
    length_histogram: Mapping[int, int], max_length: int, max_buckets: int = DEFAULT_MAX_BUCKETS
) -> tuple[int, ...]:
    """Returns at most `max_buckets` ascending bucket lengths in tokens, the last `max_length`.

    Args:
      length_histogram: pairs by length in tokens (the longer side, end symbol included).
      max_length: longest pair of the whole corpus in tokens; lengths above it are ignored.
      max_buckets: static shapes to allow.

    Example: `choose_boundaries({3: 90, 9: 10}, 20, 2)` is `(9, 20)`; with 3 buckets `(3, 9, 20)`.
    """
    lengths = sorted(length for length in length_histogram if length < max_length)
    lengths.append(max_length)
    counts = [length_histogram.get(length, 0) for length in lengths]
    pairs_up_to = [0]
    for count in counts:
        pairs_up_to.append(pairs_up_to[-1] + count)
    best, choices = _cheapest(lengths, pairs_up_to, max_buckets)
    boundaries, end = [], len(lengths)
    for buckets in range(min(range(len(best)), key=best.__getitem__), -1, -1):
        boundaries.append(lengths[end - 1])
        end = choices[buckets][end]
    return tuple(reversed(boundaries))


def bucket_of(length: int, boundaries: Sequence[int]) -> int | None:
    """Returns the bucket length in tokens for a pair's longer side, or None if none holds it."""
    index = bisect.bisect_left(boundaries, length)
    return boundaries[index] if index < len(boundaries) else None


def padding_efficiency(tokens: int, pairs: int, bucket_length: int) -> float:
    """Returns the share of a bucket's source and target positions that are real tokens."""
    return tokens / (2 * bucket_length * pairs)


def _cheapest(
    lengths: Sequence[int], pairs_up_to: Sequence[int], max_buckets: int
) -> tuple[list[float], list[list[int]]]:
    """Fills the table of the dynamic programme.

    Returns:
      The cost in positions of all pairs with 1, 2, … buckets, and for each number of buckets and
      each end (a count of lengths covered) where its last bucket starts.
    """
    size = len(lengths)
    costs = [0.0] + [float("inf")] * size  # of covering the first `end` lengths
    best, choices = [], []
    for _ in range(min(max_buckets, size)):
        grown, starts = [float("inf")] * (size + 1), [0] * (size + 1)
        for end in range(1, size + 1):
            length, pairs = lengths[end - 1], pairs_up_to[end]
            grown[end], starts[end] = min(
                (costs[start] + length * (pairs - pairs_up_to[start]), start)
                for start in range(end)
            )
        costs = grown
        best.append(costs[size])
        choices.append(starts)
    return best, choices
