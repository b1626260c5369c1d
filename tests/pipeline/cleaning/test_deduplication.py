import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.cleaning import deduplication, normalization


def write(folder: Path, blocks: list[list[str]]) -> list[str]:
    names = [f"train-{index:05d}" for index in range(len(blocks))]
    for name, lines in zip(names, blocks, strict=True):
        deduplication.write_keys(
            str(folder), name, [normalization.pair_key(line, "x") for line in lines]
        )
    return names


def mark(folder: Path, blocks: list[list[str]], pairs_together: int = 1000) -> list[list[int]]:
    names = write(folder, blocks)
    deduplication.mark(str(folder), names, pairs_together)
    return [list(deduplication.read_repeats(str(folder), name)) for name in names]


def test_all_but_the_first_in_corpus_order_are_repeats(tmp_path: Path) -> None:
    blocks = [["a", "b", "a"], [], ["c", "b"], ["a", "d"]]
    assert mark(tmp_path, blocks) == [[0, 0, 1], [], [0, 1], [1, 0]]


@pytest.mark.parametrize("pairs_together", [1, 7, 64])
def test_the_size_of_groups_changes_nothing(tmp_path: Path, pairs_together: int) -> None:
    chance = random.Random(1)
    blocks = [[str(chance.randrange(90)) for _ in range(size)] for size in (50, 1, 80, 33)]
    seen: set[str] = set()
    expected: list[list[int]] = []
    for block in blocks:
        expected.append([])
        for line in block:
            expected[-1].append(int(line in seen))
            seen.add(line)
    assert mark(tmp_path, blocks, pairs_together) == expected


def test_memory_holds_one_group_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    unique = np.unique

    def measure(keys: np.ndarray, **options: Any) -> Any:
        sizes.append(len(keys))
        return unique(keys, **options)

    monkeypatch.setattr(np, "unique", measure)
    mark(tmp_path, [[str(n) for n in range(4000)]] * 2, 1000)
    assert len(sizes) == 8 and sum(sizes) == 8000 and max(sizes) < 1300


def test_finished_work_is_not_done_again(tmp_path: Path) -> None:
    names = write(tmp_path, [["a", "a"]])
    deduplication.mark(str(tmp_path), names)
    for path in tmp_path.glob("*.keys"):
        path.unlink()
    deduplication.mark(str(tmp_path), names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train-00000.repeats"]


def test_a_corpus_without_clean_pairs_has_no_repeats(tmp_path: Path) -> None:
    assert mark(tmp_path, [[], []]) == [[], []]
