import json
from pathlib import Path

import pytest

from pipeline.blocks import count_block
from pipeline.blocks.count_block import (
    BlockGroup,
    Counted,
    CountGroup,
    CountReport,
    MergedCounts,
    add_reports,
    group_size,
)
from pipeline.blocks.heldout_text import write_heldout
from pipeline.blocks.pair_files import write_clean_pairs
from pipeline.cleaning.rules import OVERLAP
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import Pair

PAIRS = [("a b", "c"), ("a", "c d e"), ("b b b b b b", "ü"), ("b", "e")]
NOWHERE = Span("", 0, 0, "", 1)


def count(folder: Path, *blocks: list[Pair], heldout: tuple[str | Pair, ...] = ()) -> CountReport:
    """Counts blocks of pairs, each a group of its own."""
    text = write_heldout(f"{folder}/heldout", heldout)
    function = CountGroup(str(folder), str(folder))
    reports = []
    for index, pairs in enumerate(blocks):
        block = Block("train", index, 9, NOWHERE, NOWHERE, len(blocks))
        write_clean_pairs(str(folder), block.name, pairs)
        reports.append(function(BlockGroup((block,)), text))
    return add_reports(reports)


def merge(folder: Path, *sides: str, blocks: int, limit: int | None = None) -> MergedCounts:
    merged = MergedCounts(str(folder), sides, blocks, 1, limit)
    for number in range(merged.ranges):
        merged.merge(number)
    return merged


def test_words_of_each_side_are_counted_without_heldout_pairs(tmp_path: Path) -> None:
    report = count(tmp_path, PAIRS, PAIRS, heldout=("b", ("a", "c d e")))
    assert report == CountReport(kept=4, dropped={OVERLAP: 4})
    assert CountReport.from_json(json.loads(json.dumps(report.to_json()))) == report
    source, target = (merge(tmp_path, side, blocks=2).read() for side in ("source", "target"))
    assert source.words == {"a": 2, "b": 14} and (source.distinct, source.characters) == (2, 2)
    assert target.words == {"c": 2, "ü": 2}
    both = merge(tmp_path, "source", "target", blocks=2).read()
    assert both.words == {"a": 2, "b": 14, "c": 2, "ü": 2}


def test_block_that_lost_every_pair_has_no_words(tmp_path: Path) -> None:
    count(tmp_path, [])
    assert merge(tmp_path, "target", blocks=1).read().words == {}


@pytest.mark.parametrize("groups_per_range", [1, 2, 99])
def test_the_number_of_ranges_changes_nothing(
    tmp_path: Path, groups_per_range: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_block, "_GROUPS_PER_RANGE", groups_per_range)
    blocks = [[(f"x{number % 7} y{number}", "z")] * (number + 1) for number in range(9)]
    count(tmp_path, *blocks)
    merged = merge(tmp_path, "source", blocks=9)
    assert merged.ranges == {1: 16, 2: 8, 99: 1}[groups_per_range]
    words = merged.read().words
    assert words == {
        **{f"y{number}": number + 1 for number in range(9)},
        **{f"x{rest}": sum(n + 1 for n in range(9) if n % 7 == rest) for rest in range(7)},
    }


def test_only_the_most_frequent_words_are_kept_but_all_are_known_of(tmp_path: Path) -> None:
    blocks = [[("a a b", "z")], [("b b c é", "z")]]
    count(tmp_path, *blocks)
    counts = merge(tmp_path, "source", blocks=2, limit=2).read()
    assert counts.words == {"b": 3, "a": 2}
    assert (counts.distinct, counts.characters) == (4, 4)


def test_finished_ranges_are_not_merged_again(tmp_path: Path) -> None:
    count(tmp_path, PAIRS)
    before = merge(tmp_path, "source", blocks=1).read()
    for path in tmp_path.glob("*.counts"):
        path.unlink()
    assert merge(tmp_path, "source", blocks=1).read() == before


@pytest.mark.parametrize(
    ("blocks", "block_lines", "size"),
    [(1, 20_000, 1), (127, 20_000, 1), (128, 20_000, 2), (2_250, 20_000, 16), (5_000, 200_000, 1)],
)
def test_large_corpora_are_counted_in_groups_that_still_occupy_many_workers(
    blocks: int, block_lines: int, size: int
) -> None:
    assert group_size(blocks, block_lines) == size


def test_what_was_counted_is_small_enough_to_cross_a_shuffle() -> None:
    merged = MergedCounts("folder", ("source",), 50_000, 1, 1 << 18)
    assert len(repr(Counted(CountReport(1, {}), (merged,)))) < 300
