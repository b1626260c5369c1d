import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.blocks.candidates import CANDIDATE, read_candidates
from pipeline.blocks.clean_block import CleanBlock, CleanReport, add_reports
from pipeline.blocks.pair_files import read_clean_pairs, read_training_pairs
from pipeline.blocks.repeats import Repeats
from pipeline.cleaning import rules
from pipeline.cleaning.normalization import sentence_key
from pipeline.common.errors import UserError
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span


def block_of(folder: Path, sources: list[str], targets: list[str], split: str = "train") -> Block:
    spans = []
    for name, lines in (("source", sources), ("target", targets)):
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
        spans.append(Span(str(folder / name), 0, (folder / name).stat().st_size, name, 1))
    return Block(split, 0, len(sources), spans[0], spans[1])


def make_rules(**config: Any) -> rules.PairRules:
    return rules.PairRules(rules.CleaningConfig(**config), "en", "de")


def test_cleaning_normalizes_and_counts_what_it_drops(tmp_path: Path) -> None:
    block = block_of(tmp_path, [" a\tb ", "", "x", "a a a a"], ["c", "u\u0308", " ", "b"])
    report = CleanBlock(str(tmp_path), make_rules(max_length_ratio=3.0), 0)(block)
    assert report.lines == 4 and report.recomposed == 1
    assert report.dropped == {"empty_side": 2, "length_ratio": 1}
    assert report.kept == 1
    assert read_clean_pairs(str(tmp_path), block.name) == [("a b", "c")]


def test_report_survives_json() -> None:
    report = CleanReport(lines=4, recomposed=1, dropped={"length_ratio": 1, "empty_side": 2})
    text = json.dumps(report.to_json())
    assert text == '{"lines": 4, "recomposed": 1, "dropped": {"length_ratio": 1, "empty_side": 2}}'
    assert CleanReport.from_json(json.loads(text)) == report


def test_reports_are_added_by_rule() -> None:
    reports = [CleanReport(4, 1, {"a": 1, "b": 2}), CleanReport(5, 0, {"b": 3})]
    assert add_reports(reports) == CleanReport(9, 1, {"a": 1, "b": 5})


def test_only_empty_sides_are_dropped_from_dev_and_test(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["a a a a"], ["b"], split="dev")
    strict = make_rules(max_length_ratio=3.0, drop_identical_sides=True, min_script_share=1.0)
    assert CleanBlock(str(tmp_path), strict, 0)(block).dropped == {}


def test_undecodable_bytes_stop_the_run_unless_a_rule_drops_them(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["a", "bad", "c"], ["d", "e", "f"])
    (tmp_path / "source").write_bytes(b"a\nb\xe9d\nc\n")
    with pytest.raises(UserError, match="source, line 2: byte 0xe9 is not UTF-8; .*undecodable"):
        CleanBlock(str(tmp_path), make_rules(), 0)(block)
    report = CleanBlock(str(tmp_path), make_rules(drop_undecodable=True), 0)(block)
    assert report.dropped == {"undecodable": 1}
    assert read_clean_pairs(str(tmp_path), block.name) == [("a", "d"), ("c", "f")]


def test_undecodable_bytes_in_dev_always_stop_the_run(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["bad"], ["d"], split="dev")
    (tmp_path / "source").write_bytes(b"b\xe9d\n")
    with pytest.raises(UserError, match="not UTF-8"):
        CleanBlock(str(tmp_path), make_rules(drop_undecodable=True), 0)(block)


def test_duplicates_are_neither_counted_nor_encoded(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["a", "b", " a", "c", "a"], ["d", "d", "d", "d", "e"])
    report = CleanBlock(str(tmp_path), make_rules(drop_duplicates=True), 0)(block)
    repeats = Repeats(str(tmp_path), ranges=1, blocks=1)
    repeats.find(0)
    assert report.dropped == {}  # repeats are known only when all blocks are clean
    pairs, dropped = read_training_pairs(str(tmp_path), block, frozenset(["b"]), repeats)
    assert pairs == [("a", "d"), ("c", "d"), ("a", "e")]
    assert dropped == {rules.DUPLICATE: 1, rules.OVERLAP: 1}


def test_candidates_are_the_sentences_with_the_smallest_keys_and_their_copies(
    tmp_path: Path,
) -> None:
    sources = ["a", "b", "c", "a", " a", "d"]
    block = block_of(tmp_path, sources, ["x"] * len(sources))
    CleanBlock(str(tmp_path), make_rules(), 3)(block)
    copies = {"a": 3, "b": 1, "c": 1, "d": 1}
    smallest = sorted(copies, key=sentence_key)[:3]
    candidates = np.frombuffer(read_candidates(str(tmp_path), block), CANDIDATE)
    text = (tmp_path / f"{block.name}.tsv").read_bytes()
    for name, candidate in zip(smallest, candidates, strict=True):
        assert candidate["key"] == int.from_bytes(sentence_key(name), "big")
        assert candidate["copies"] == copies[name] and candidate["block"] == 0
        row = text[candidate["start"] : candidate["start"] + candidate["size"]]
        assert row == f"{name}\tx\n".encode()
        assert candidate["start"] == 4 * sources.index(name)  # of its first pair
