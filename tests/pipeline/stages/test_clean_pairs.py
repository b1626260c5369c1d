import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cleaning import deduplication, rules
from pipeline.cleaning.normalization import sentence_key
from pipeline.common.errors import UserError
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span
from pipeline.stages.clean_pairs import CleanPairs, CleanReport, read_candidates
from pipeline.stages.pair_files import read_clean_pairs, read_training_pairs


def block_of(folder: Path, sources: list[str], targets: list[str], split: str = "train") -> Block:
    spans = []
    for name, lines in (("source", sources), ("target", targets)):
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
        spans.append(Span(str(folder / name), 0, (folder / name).stat().st_size, name, 1))
    return Block(split, 0, len(sources), *spans)


def make_rules(**config: Any) -> rules.PairRules:
    return rules.PairRules(rules.CleaningConfig(**config), "en", "de")


def test_cleaning_normalizes_and_counts_what_it_drops(tmp_path: Path) -> None:
    block = block_of(tmp_path, [" a\tb ", "", "x", "a a a a"], ["c", "u\u0308", " ", "b"])
    report = CleanPairs(str(tmp_path), make_rules(max_length_ratio=3.0), 0)(block)
    assert report.lines == 4 and report.recomposed == 1
    assert report.dropped == {"empty_side": 2, "length_ratio": 1}
    assert report.kept == 1
    assert read_clean_pairs(str(tmp_path), block.name) == [("a b", "c")]


def test_report_survives_json() -> None:
    report = CleanReport(lines=4, recomposed=1, dropped={"length_ratio": 1, "empty_side": 2})
    text = json.dumps(report.to_json())
    assert (
        text == '{"lines": 4, "recomposed": 1, "dropped": {"length_ratio": 1, "empty_side": 2}}'
    )  # the form that an unfinished run of an earlier version has left
    assert CleanReport.from_json(json.loads(text)) == report


def test_only_empty_sides_are_dropped_from_dev_and_test(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["a a a a"], ["b"], split="dev")
    strict = make_rules(max_length_ratio=3.0, drop_identical_sides=True, min_script_share=1.0)
    assert CleanPairs(str(tmp_path), strict, 0)(block).dropped == {}


def test_undecodable_bytes_stop_the_run_unless_a_rule_drops_them(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["a", "bad", "c"], ["d", "e", "f"])
    (tmp_path / "source").write_bytes(b"a\nb\xe9d\nc\n")
    with pytest.raises(UserError, match="source, line 2: byte 0xe9 is not UTF-8; .*undecodable"):
        CleanPairs(str(tmp_path), make_rules(), 0)(block)
    report = CleanPairs(str(tmp_path), make_rules(drop_undecodable=True), 0)(block)
    assert report.dropped == {"undecodable": 1}
    assert read_clean_pairs(str(tmp_path), block.name) == [("a", "d"), ("c", "f")]


def test_undecodable_bytes_in_dev_always_stop_the_run(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["bad"], ["d"], split="dev")
    (tmp_path / "source").write_bytes(b"b\xe9d\n")
    with pytest.raises(UserError, match="not UTF-8"):
        CleanPairs(str(tmp_path), make_rules(drop_undecodable=True), 0)(block)


def test_duplicates_are_neither_counted_nor_encoded(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["a", "b", " a", "c", "a"], ["d", "d", "d", "d", "e"])
    report = CleanPairs(str(tmp_path), make_rules(drop_duplicates=True), 0)(block)
    deduplication.mark(str(tmp_path), [block.name])
    assert report.dropped == {}  # repeats are known only when all blocks are clean
    pairs, dropped = read_training_pairs(
        str(tmp_path), block.name, frozenset(["b"]), drop_duplicates=True
    )
    assert pairs == [("a", "d"), ("c", "d"), ("a", "e")]
    assert dropped == {rules.DUPLICATE: 1, rules.OVERLAP: 1}


def test_candidates_are_the_sentences_with_the_smallest_keys_and_their_copies(
    tmp_path: Path,
) -> None:
    sources = ["a", "b", "c", "a", " a", "d"]
    block = block_of(tmp_path, sources, ["x"] * len(sources))
    CleanPairs(str(tmp_path), make_rules(), 3)(block)
    keys = {name: sentence_key(name).hex() for name in "abcd"}
    whole = [(keys["a"], 0, 3), (keys["b"], 1, 1), (keys["c"], 2, 1), (keys["d"], 5, 1)]
    assert read_candidates(str(tmp_path), block.name) == sorted(whole)[:3]
