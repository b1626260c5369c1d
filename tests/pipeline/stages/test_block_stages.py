import hashlib
from pathlib import Path
from typing import Any

import pytest

from pipeline.cleaning import deduplication, normalization, rules
from pipeline.common.errors import UserError
from pipeline.corpora.blocks import Block, BlockGroup
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import END_ID, Vocabulary, parse_example, read_records
from pipeline.dataset.tfrecord import unpack_ids
from pipeline.stages import block_stages, pair_files
from pipeline.subwords import encoding, learning
from pipeline.subwords.bpe_dropout import NO_DROPOUT

PAIRS = [("a b", "c"), ("a", "c d e"), ("b b b b b b", "c"), ("b", "e")]


@pytest.fixture
def vocabulary_path(tmp_path: Path) -> str:
    path = str(tmp_path / "subwords.model")
    learning.learn_bpe({letter: 9 for letter in "abcde"}, 270, path)
    return path


def block_of(folder: Path, sources: list[str], targets: list[str], split: str = "train") -> Block:
    spans = []
    for name, lines in (("source", sources), ("target", targets)):
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
        spans.append(Span(str(folder / name), 0, (folder / name).stat().st_size, name, 1))
    return Block(split, 0, len(sources), *spans)


def make_rules(**config: Any) -> rules.PairRules:
    return rules.PairRules(rules.CleaningConfig(**config), "en", "de")


def test_cleaning_normalises_and_counts_what_it_drops(tmp_path: Path) -> None:
    block = block_of(tmp_path, [" a\tb ", "", "x", "a a a a"], ["c", "u\u0308", " ", "b"])
    report = block_stages.CleanPairs(str(tmp_path), make_rules(max_length_ratio=3.0), 0)(block)
    assert report["lines"] == 4 and report["recomposed"] == 1
    assert report["dropped"] == {"empty_side": 2, "length_ratio": 1}
    assert pair_files.read_pairs(str(tmp_path), block.name) == [("a b", "c")]


def test_dev_and_test_lose_empty_sides_alone(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["a a a a"], ["b"], split="dev")
    strict = make_rules(max_length_ratio=3.0, drop_identical_sides=True, min_script_share=1.0)
    assert block_stages.CleanPairs(str(tmp_path), strict, 0)(block)["dropped"] == {}


def test_undecodable_bytes_stop_the_run_unless_a_rule_drops_them(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["a", "bad", "c"], ["d", "e", "f"])
    (tmp_path / "source").write_bytes(b"a\nb\xe9d\nc\n")
    with pytest.raises(UserError, match="source, line 2: byte 0xe9 is not UTF-8; .*undecodable"):
        block_stages.CleanPairs(str(tmp_path), make_rules(), 0)(block)
    report = block_stages.CleanPairs(str(tmp_path), make_rules(drop_undecodable=True), 0)(block)
    assert report["dropped"] == {"undecodable": 1}
    assert pair_files.read_pairs(str(tmp_path), block.name) == [("a", "d"), ("c", "f")]


def test_undecodable_bytes_in_dev_stop_the_run_in_any_case(tmp_path: Path) -> None:
    block = block_of(tmp_path, ["bad"], ["d"], split="dev")
    (tmp_path / "source").write_bytes(b"b\xe9d\n")
    with pytest.raises(UserError, match="not UTF-8"):
        block_stages.CleanPairs(str(tmp_path), make_rules(drop_undecodable=True), 0)(block)


def test_words_of_each_side_are_counted_without_what_is_held_out(tmp_path: Path) -> None:
    pair_files.write_pairs(str(tmp_path), "train-00000", PAIRS)
    (tmp_path / "counts").mkdir()
    heldout: pair_files.Heldout = frozenset(["b", ("a", "c d e")])
    block = block_of(tmp_path, [], [])
    count = block_stages.CountWords(str(tmp_path), str(tmp_path / "counts"), heldout)
    count(BlockGroup(block.name, (block, block)))
    source, target = (
        dict(block_stages.read_counts(str(tmp_path / "counts"), block.name, side))
        for side in ("source", "target")
    )
    assert source == {"a": 2, "b": 14}
    assert target == {"c": 4}


def test_a_block_that_lost_every_pair_has_no_words(tmp_path: Path) -> None:
    pair_files.write_pairs(str(tmp_path), "train-00000", [])
    block = block_of(tmp_path, [], [])
    count = block_stages.CountWords(str(tmp_path), str(tmp_path), frozenset())
    count(BlockGroup(block.name, (block,)))
    assert not list(block_stages.read_counts(str(tmp_path), "train-00000", "target"))


def test_each_side_is_encoded_by_its_own_subwords(tmp_path: Path) -> None:
    vocabularies = []
    for side, letters in (("source", "ab"), ("target", "cd")):
        path = str(tmp_path / f"subwords.{side}.model")
        learning.learn_bpe({letter: 9 for letter in letters}, 264, path)
        vocabularies.append(encoding.load_subwords(path))
    ((pair,),) = block_stages.encode_pairs([("a b", "d c")], vocabularies, NO_DROPOUT)
    expected = [*vocabularies[0].encode(["a b"]), *vocabularies[1].encode(["d c"])]
    assert list(map(unpack_ids, pair)) == [[*ids, END_ID] for ids in expected]
    assert all(len(ids) == 2 for ids in expected)  # not spelled in bytes


def encode(folder: Path, vocabulary_path: str, heldout: pair_files.Heldout = frozenset()) -> dict:
    pair_files.write_pairs(str(folder), "train-00000", PAIRS)
    digest = hashlib.sha256(Path(vocabulary_path).read_bytes()).hexdigest()
    vocabulary = Vocabulary("bpe", "subwords.model", digest, 270)
    stage = block_stages.EncodePairs(
        str(folder), str(folder), (vocabulary, vocabulary), ((3, 3), (5, 5)), heldout, {"train": 8}
    )
    return stage(block_of(folder, [], []))


def test_each_pair_is_in_the_shard_of_its_longer_side(tmp_path: Path, vocabulary_path: str) -> None:
    report = encode(tmp_path, vocabulary_path)
    assert [row["path"] for row in report["shards"]] == [
        "train/bucket-003x003-00000-of-00008.tfrecord",
        "train/bucket-005x005-00000-of-00008.tfrecord",
    ]
    vocabulary = encoding.load_subwords(vocabulary_path)
    found = []
    for row in report["shards"]:
        examples = list(map(parse_example, read_records(str(tmp_path / row["path"]))))
        assert row["pairs"] == len(examples)
        assert row["source_tokens"] == sum(len(source) for source, _ in examples)
        assert row["target_tokens"] == sum(len(target) for _, target in examples)
        assert all(side[-1] == END_ID for example in examples for side in example)
        found.append({tuple(vocabulary.decode(list(example))) for example in examples})
    assert found == [{("a b", "c"), ("b", "e")}, {("a", "c d e")}]


def test_encoding_counts_what_is_too_long_or_held_out(tmp_path: Path, vocabulary_path: str) -> None:
    heldout = frozenset(["b"])
    report = encode(tmp_path, vocabulary_path, heldout)
    assert report["dropped"] == {rules.OVERLAP: 1, rules.TOO_LONG: 1}


def test_the_order_in_a_shard_is_that_of_the_pairs_keys(
    tmp_path: Path, vocabulary_path: str
) -> None:
    row = encode(tmp_path, vocabulary_path)["shards"][0]
    vocabulary = encoding.load_subwords(vocabulary_path)
    examples = map(parse_example, read_records(str(tmp_path / row["path"])))
    pairs = [tuple(vocabulary.decode(list(example))) for example in examples]
    assert pairs == sorted(pairs, key=lambda pair: normalization.pair_key(*pair))


def test_repeats_are_neither_counted_nor_encoded(tmp_path: Path, vocabulary_path: str) -> None:
    block = block_of(tmp_path, ["a", "b", " a", "c", "a"], ["d", "d", "d", "d", "e"])
    report = block_stages.CleanPairs(str(tmp_path), make_rules(drop_duplicates=True), 0)(block)
    deduplication.mark(str(tmp_path), [block.name])
    assert report["dropped"] == {}  # repeats are known only when all blocks are clean
    pairs, dropped = pair_files.training_pairs(
        str(tmp_path), block.name, frozenset(["b"]), drop_duplicates=True
    )
    assert pairs == [("a", "d"), ("c", "d"), ("a", "e")]
    assert dropped == {rules.DUPLICATE: 1, rules.OVERLAP: 1}
