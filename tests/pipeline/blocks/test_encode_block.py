import hashlib
import json
from pathlib import Path

import pytest

from pipeline.blocks.encode_block import EncodeBlock, EncodeReport, Encoding, encode_pairs
from pipeline.blocks.heldout_text import Heldout, write_heldout
from pipeline.blocks.pair_files import write_clean_pairs
from pipeline.cleaning import normalization, rules
from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import END_ID, Vocabulary, parse_example, read_records
from pipeline.dataset.tfrecord import unpack_ids
from pipeline.subwords import encoding, learning
from pipeline.subwords.bpe_dropout import NO_DROPOUT

PAIRS = [("a b", "c"), ("a", "c d e"), ("b b b b b b", "c"), ("b", "e")]
NOWHERE = Span("", 0, 0, "", 1)
BLOCK = Block("train", 0, 0, NOWHERE, NOWHERE, siblings=8)


@pytest.fixture
def vocabulary_path(tmp_path: Path) -> str:
    path = str(tmp_path / "subwords.model")
    learning.learn_bpe({letter: 9 for letter in "abcde"}, 270, path)
    return path


def test_each_side_is_encoded_by_its_own_subwords(tmp_path: Path) -> None:
    vocabularies = []
    for side, letters in (("source", "ab"), ("target", "cd")):
        path = str(tmp_path / f"subwords.{side}.model")
        learning.learn_bpe({letter: 9 for letter in letters}, 264, path)
        vocabularies.append(encoding.load_subwords(path))
    ((pair,),) = encode_pairs([("a b", "d c")], vocabularies, NO_DROPOUT)
    expected = [*vocabularies[0].encode(["a b"]), *vocabularies[1].encode(["d c"])]
    assert list(map(unpack_ids, pair)) == [[*ids, END_ID] for ids in expected]
    assert all(len(ids) == 2 for ids in expected)  # not spelled in bytes


def encode(folder: Path, vocabulary_path: str, heldout: Heldout = frozenset()) -> EncodeReport:
    write_clean_pairs(str(folder), BLOCK.name, PAIRS)
    digest = hashlib.sha256(Path(vocabulary_path).read_bytes()).hexdigest()
    vocabulary = Vocabulary("bpe", "subwords.model", digest, 270)
    encoding = Encoding(str(folder), (vocabulary, vocabulary))
    text = write_heldout(f"{folder}/heldout", heldout)
    return EncodeBlock(str(folder), str(folder))(BLOCK, encoding, ((3, 3), (5, 5)), text)


def test_the_longer_side_decides_the_shard_of_a_pair(tmp_path: Path, vocabulary_path: str) -> None:
    report = encode(tmp_path, vocabulary_path)
    assert [shard.path for shard in report.shards] == [
        "train/bucket-003x003-00000-of-00008.tfrecord",
        "train/bucket-005x005-00000-of-00008.tfrecord",
    ]
    vocabulary = encoding.load_subwords(vocabulary_path)
    contents = []
    for shard in report.shards:
        examples = list(map(parse_example, read_records(str(tmp_path / shard.path))))
        assert shard.pairs == len(examples)
        assert shard.source_tokens == sum(len(source) for source, _ in examples)
        assert shard.target_tokens == sum(len(target) for _, target in examples)
        assert all(side[-1] == END_ID for example in examples for side in example)
        contents.append({tuple(vocabulary.decode(list(example))) for example in examples})
    assert contents == [{("a b", "c"), ("b", "e")}, {("a", "c d e")}]


def test_encoding_counts_pairs_that_are_too_long_or_held_out(
    tmp_path: Path, vocabulary_path: str
) -> None:
    heldout = frozenset(["b"])
    report = encode(tmp_path, vocabulary_path, heldout)
    assert report.dropped == {rules.OVERLAP: 1, rules.TOO_LONG: 1}


def test_pairs_in_a_shard_are_ordered_by_key(tmp_path: Path, vocabulary_path: str) -> None:
    shard = encode(tmp_path, vocabulary_path).shards[0]
    vocabulary = encoding.load_subwords(vocabulary_path)
    examples = map(parse_example, read_records(str(tmp_path / shard.path)))
    pairs = [tuple(vocabulary.decode(list(example))) for example in examples]
    assert pairs == sorted(pairs, key=lambda pair: normalization.pair_key(*pair))


def test_report_survives_json(tmp_path: Path, vocabulary_path: str) -> None:
    report = encode(tmp_path, vocabulary_path)
    values = json.loads(json.dumps(report.to_json()))
    assert list(values) == ["shards", "dropped", "kept", "text"]
    assert EncodeReport.from_json(values) == report


def test_counters_hold_what_becomes_of_pairs_and_positions(
    tmp_path: Path, vocabulary_path: str
) -> None:
    report = encode(tmp_path, vocabulary_path)
    counters = report.counters
    assert counters["kept"] + counters[rules.TOO_LONG] + counters[rules.OVERLAP] == len(PAIRS)
    assert counters["positions"] == sum(sum(shard.shape) * shard.rows for shard in report.shards)
    assert counters["source_tokens"] == 5 + 2 and counters["target_tokens"] == 4 + 4
