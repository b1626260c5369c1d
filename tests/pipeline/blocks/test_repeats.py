from pathlib import Path

import pytest

from pipeline.blocks.repeats import Repeats, keys_path
from pipeline.blocks.slices import read_slices, write_slices
from pipeline.cleaning.deduplication import divide_keys
from pipeline.cleaning.normalization import pair_key
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span

NOWHERE = Span("", 0, 0, "", 1)


def find(folder: Path, blocks: list[str], ranges: int) -> Repeats:
    """Writes blocks of one-letter pairs and finds the repeats."""
    for index, letters in enumerate(blocks):
        keys = [pair_key(letter, "x") for letter in letters]
        write_slices(keys_path(str(folder), index), divide_keys(keys))
    repeats = Repeats(str(folder), ranges, len(blocks))
    for number in range(ranges):
        repeats.find(number)
    return repeats


@pytest.mark.parametrize("ranges", [1, 4, 1024])
def test_rows_of_a_block_that_repeat_an_earlier_pair(tmp_path: Path, ranges: int) -> None:
    repeats = find(tmp_path, ["abac", "", "cd", "dbe"], ranges)
    blocks = [Block("train", index, 4, NOWHERE, NOWHERE) for index in range(4)]
    assert [repeats.rows(block) for block in blocks] == [{2}, set(), {0}, {0, 1}]


def test_finished_work_is_not_done_again(tmp_path: Path) -> None:
    find(tmp_path, ["aa"], 1)
    for path in tmp_path.glob("*.keys"):
        path.unlink()
    repeats = Repeats(str(tmp_path), 1, 1)
    repeats.find(0)
    assert repeats.rows(Block("train", 0, 2, NOWHERE, NOWHERE)) == {1}


def test_a_slice_is_read_without_the_others(tmp_path: Path) -> None:
    path = str(tmp_path / "slices")
    write_slices(path, [b"ab", b"", b"c", b"def"])
    assert read_slices(path, 0, 4) == b"abcdef"
    assert [read_slices(path, n, n + 1) for n in range(4)] == [b"ab", b"", b"c", b"def"]
