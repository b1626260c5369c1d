import json
from pathlib import Path

from pipeline.cleaning.rules import OVERLAP
from pipeline.corpora.blocks import Block, BlockGroup
from pipeline.corpora.spans import Span
from pipeline.stages.count_words import CountReport, CountWords, read_counts
from pipeline.stages.pair_files import Heldout, write_clean_pairs

PAIRS = [("a b", "c"), ("a", "c d e"), ("b b b b b b", "c"), ("b", "e")]
NOWHERE = Span("", 0, 0, "", 1)
BLOCK = Block("train", 0, 0, NOWHERE, NOWHERE)


def test_words_of_each_side_are_counted_without_heldout_pairs(tmp_path: Path) -> None:
    write_clean_pairs(str(tmp_path), BLOCK.name, PAIRS)
    (tmp_path / "counts").mkdir()
    heldout: Heldout = frozenset(["b", ("a", "c d e")])
    count = CountWords(str(tmp_path), str(tmp_path / "counts"), heldout)
    report = count(BlockGroup(BLOCK.name, (BLOCK, BLOCK)))
    assert report == CountReport(kept=4, dropped={OVERLAP: 4})
    assert CountReport.from_json(json.loads(json.dumps(report.to_json()))) == report
    source, target = (
        dict(read_counts(str(tmp_path / "counts"), BLOCK.name, side))
        for side in ("source", "target")
    )
    assert source == {"a": 2, "b": 14}
    assert target == {"c": 4}


def test_block_that_lost_every_pair_has_no_words(tmp_path: Path) -> None:
    write_clean_pairs(str(tmp_path), BLOCK.name, [])
    CountWords(str(tmp_path), str(tmp_path), frozenset())(BlockGroup(BLOCK.name, (BLOCK,)))
    assert not list(read_counts(str(tmp_path), BLOCK.name, "target"))
