import collections
import itertools
import random

import pytest

from pipeline.dataset.packing import choose_shapes, pack, padding_efficiency
from pipeline.dataset.schema import Lengths

SHAPES = ((8, 10), (16, 20), (32, 40))


def random_pairs(seed: int, size: int = 400) -> list[Lengths]:
    numbers = random.Random(seed)
    sources = [2 + int(numbers.expovariate(0.15)) for _ in range(size)]
    return [(n, max(2, round(n * numbers.gauss(1.2, 0.2)))) for n in sources]


def room_of(shape: Lengths, row: list[int], pairs: list[Lengths]) -> Lengths:
    used = [sum(pairs[number][side] for number in row) for side in (0, 1)]
    return shape[0] - used[0], shape[1] - used[1]


@pytest.mark.parametrize("seed", range(5))
def test_every_pair_that_fits_is_in_exactly_one_row(seed: int) -> None:
    pairs = random_pairs(seed)
    packed = pack(pairs, SHAPES)
    numbers = [number for rows in packed.values() for row in rows for number in row]
    fitting = [n for n, (source, target) in enumerate(pairs) if source <= 32 and target <= 40]
    assert sorted(numbers) == fitting and len(fitting) < len(pairs)
    for shape, rows in packed.items():
        assert all(min(room_of(shape, row, pairs)) >= 0 for row in rows)


@pytest.mark.parametrize("seed", range(5))
def test_a_row_has_the_smallest_shape_for_its_longest_pair(seed: int) -> None:
    pairs = random_pairs(seed)
    for shape, rows in pack(pairs, SHAPES).items():
        for row in rows:
            fits = [s for s in SHAPES if all(n <= m for n, m in zip(pairs[row[0]], s, strict=True))]
            assert fits[0] == shape
            assert max(pairs[row[0]]) == max(max(pairs[number]) for number in row)


def test_no_row_is_opened_while_another_has_room() -> None:
    """Else the last pairs, which are the shortest, would lie in rows of their own."""
    pairs = random_pairs(7)
    packed = pack(pairs, SHAPES)
    rooms = [room_of(shape, row, pairs) for shape, rows in packed.items() for row in rows]
    openers = [pairs[row[0]] for rows in packed.values() for row in rows]
    shortest = min(openers, key=max)
    assert sum(s >= shortest[0] and t >= shortest[1] for s, t in rooms) <= 1


def test_a_pair_goes_into_the_row_with_the_best_fit() -> None:
    assert pack([(6, 6), (7, 7), (1, 3)], ((8, 10),)) == {(8, 10): [[0], [1, 2]]}
    assert pack([(8, 7), (6, 7), (2, 2)], ((10, 10),)) == {(10, 10): [[0, 2], [1]]}


def test_rows_are_in_the_order_of_their_longest_pairs() -> None:
    rows = pack(random_pairs(3), SHAPES)
    assert len(rows) == 3 and all(numbers == sorted(numbers) for numbers in rows.values())
    assert list(rows) == list(SHAPES)


def test_no_pairs_make_no_rows() -> None:
    assert pack([], SHAPES) == {}
    assert pack([(33, 2)], SHAPES) == {}


def test_most_positions_are_real_tokens() -> None:
    pairs = [pair for pair in random_pairs(1, 5000) if max(pair) <= 60]
    longest = max(s for s, _ in pairs), max(t for _, t in pairs)
    shapes = choose_shapes(collections.Counter(pairs), longest)
    packed = pack(pairs, shapes)
    positions = sum(len(rows) * sum(shape) for shape, rows in packed.items())
    assert sum(itertools.chain(*pairs)) / positions > 0.92
    assert len(shapes) <= 5


def test_shapes_are_the_median_lengths_doubled_up_to_the_longest() -> None:
    histogram = {(20, 30): 5, (10, 90): 2, (60, 24): 4}
    assert choose_shapes(histogram, (100, 100)) == ((20, 30), (40, 60), (80, 100), (100, 100))
    assert choose_shapes({(20, 30): 1}, (20, 30)) == ((20, 30),)
    assert choose_shapes({(20, 30): 1}, (16, 16)) == ((16, 16),)


def test_efficiency_is_real_tokens_over_both_sides_positions() -> None:
    assert padding_efficiency(tokens=30, rows=2, shape=(8, 12)) == 0.75
