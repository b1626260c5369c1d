"""Packing of pairs into rows: a few static shapes hold any corpus with little padding.

A batch of bucket (S, T) is an array of rows with S source and T target positions. Each row packs
one or more whole pairs; the end symbol closes each sentence, so readers can split a row, and the
model masks attention between sentences. `pipeline.inspect` prints the share of real positions.
"""

import statistics
from collections.abc import Mapping, Sequence

from pipeline.dataset.schema import Lengths


def choose_shapes(histogram: Mapping[Lengths, int], longest: Lengths) -> tuple[Lengths, ...]:
    """Returns the shapes of rows: the median lengths, doubled until `longest` is reached.

    Args:
        histogram: number of pairs by their lengths in tokens, including end symbols.
        longest: maximum lengths of a pair, in tokens.

    Example: medians of 20 and 24 and longest lengths of 100 and 100 give
    `((20, 24), (40, 48), (80, 96), (100, 100))`.
    """
    source, target = (_median(histogram, side) if histogram else longest[side] for side in (0, 1))
    shapes = [(min(source, longest[0]), min(target, longest[1]))]
    while shapes[-1] != longest:
        source, target = shapes[-1]
        shapes.append((min(2 * source, longest[0]), min(2 * target, longest[1])))
    return tuple(shapes)


def pack(pairs: Sequence[Lengths], shapes: Sequence[Lengths]) -> dict[Lengths, list[list[int]]]:
    """Packs pairs into rows by best-fit-decreasing bin packing in two dimensions.

    The longest pairs come first. Each goes into the open row where it leaves the least target room,
    then the least source room, or opens a row of the smallest shape that holds it (Johnson et al.
    1974, "Worst-Case Performance Bounds for Simple One-Dimensional Packing Algorithms").

    Example: pairs of (6, 7), (3, 4) and (2, 3) tokens and the one shape (8, 10) give rows
    `[[0, 2], [1]]`: the second pair does not fit beside the first, the third does.

    Args:
        pairs: lengths of each pair in tokens, including end symbols.
        shapes: shapes of rows, ascending on both sides.

    Returns:
        The rows of each shape in use, in the order of their longest pairs; a row lists the indices
        of its pairs in `pairs`. A pair longer than the last shape is in no row.
    """
    rows: dict[Lengths, list[list[int]]] = {}
    if not pairs:
        return rows
    least_source, least_target = (min(side) for side in zip(*pairs, strict=True))
    # room[free target positions][free source positions]: rows with room for the shortest lengths
    room: list[dict[int, list[list[int]]]] = [{} for _ in range(shapes[-1][1] + 1)]
    for number in sorted(range(len(pairs)), key=lambda n: (-max(pairs[n]), -min(pairs[n]))):
        source, target = pairs[number]
        best_fit = _least_room(room, source, target)
        if best_fit:
            source_room, target_room = best_fit
            row = _take(room[target_room], source_room)
        else:
            shape = next((s for s in shapes if source <= s[0] and target <= s[1]), None)
            if shape is None:
                continue
            source_room, target_room = shape
            row = []
            rows.setdefault(shape, []).append(row)
        row.append(number)
        source_room, target_room = source_room - source, target_room - target
        if source_room >= least_source and target_room >= least_target:
            room[target_room].setdefault(source_room, []).append(row)
    return {shape: sorted(rows[shape]) for shape in shapes if shape in rows}


def padding_efficiency(tokens: int, rows: int, shape: Lengths) -> float:
    """Returns the share of real tokens among the source and target positions of a bucket's rows."""
    return tokens / (rows * sum(shape))


def _least_room(room: Sequence[Mapping[int, object]], source: int, target: int) -> Lengths | None:
    """Returns (source room, target room) of the best-fitting open row, or None if none fits."""
    for target_room in range(target, len(room)):
        if room[target_room]:
            fitting = [free for free in room[target_room] if free >= source]
            if fitting:
                return min(fitting), target_room
    return None


def _take(rows: dict[int, list[list[int]]], room: int) -> list[int]:
    """Removes and returns a row with this much room."""
    row = rows[room].pop()
    if not rows[room]:
        del rows[room]
    return row


def _median(histogram: Mapping[Lengths, int], side: int) -> int:
    counts: dict[int, int] = {}
    for lengths, pairs in histogram.items():
        counts[lengths[side]] = counts.get(lengths[side], 0) + pairs
    return statistics.median_high(n for n in sorted(counts) for _ in range(counts[n]))
