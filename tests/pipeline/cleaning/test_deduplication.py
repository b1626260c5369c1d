import random
from typing import Any

import numpy as np
import pytest

from pipeline.cleaning import deduplication, normalization
from pipeline.cleaning.deduplication import MOST_RANGES, count_ranges, divide_keys, find_repeats


def rows_of(blocks: list[list[str]], ranges: int = 1) -> list[list[int]]:
    """Returns the repeated rows of each block, found a range of keys at a time."""
    divided = [
        divide_keys([normalization.pair_key(line, "x") for line in lines]) for lines in blocks
    ]
    width = MOST_RANGES // ranges
    found: list[list[int]] = [[] for _ in blocks]
    for start in range(0, MOST_RANGES, width):
        slices = [b"".join(slices[start : start + width]) for slices in divided]
        for rows, data in zip(found, find_repeats(slices), strict=True):
            rows += np.frombuffer(data, "<u4").tolist()
    return [sorted(rows) for rows in found]


def test_all_but_the_first_in_corpus_order_are_repeats() -> None:
    blocks = [["a", "b", "a"], [], ["c", "b"], ["a", "d"]]
    assert rows_of(blocks) == [[2], [], [1], [0]]


@pytest.mark.parametrize("ranges", [1, 2, 64, 1024])
def test_the_number_of_ranges_changes_nothing(ranges: int) -> None:
    chance = random.Random(1)
    blocks = [[str(chance.randrange(90)) for _ in range(size)] for size in (50, 1, 80, 33)]
    seen: set[str] = set()
    expected: list[list[int]] = []
    for block in blocks:
        expected.append([])
        for row, line in enumerate(block):
            if line in seen:
                expected[-1].append(row)
            seen.add(line)
    assert rows_of(blocks, ranges) == expected


def test_memory_holds_one_range_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    unique = np.unique

    def measure(keys: np.ndarray, **options: Any) -> Any:
        sizes.append(len(keys))
        return unique(keys, **options)

    monkeypatch.setattr(np, "unique", measure)
    rows_of([[str(n) for n in range(4000)]] * 2, 8)
    assert len(sizes) == 8 and sum(sizes) == 8000 and max(sizes) < 1300


def test_keys_are_ascending_over_all_ranges() -> None:
    keys = [normalization.pair_key(str(number), "x") for number in range(500)]
    data = b"".join(divide_keys(keys))
    ordered = np.frombuffer(data, deduplication.KEYED)["key"]
    assert len(ordered) == 500 and (ordered[:-1] < ordered[1:]).all()


@pytest.mark.parametrize(
    ("pairs", "ranges"), [(0, 1), (1 << 21, 1), (4_500_000, 4), (45_000_000, 32), (10**10, 1024)]
)
def test_the_number_of_ranges_grows_with_the_corpus(pairs: int, ranges: int) -> None:
    assert count_ranges(pairs) == ranges


def test_a_corpus_without_clean_pairs_has_no_repeats() -> None:
    assert rows_of([[], []]) == [[], []]
