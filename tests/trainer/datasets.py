"""Small dataset directories of the built-in corpus, written with the contract's own functions."""

import collections
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.builtin import generate_pairs
from pipeline.schema import (
    END_ID,
    Dataset,
    Shard,
    Split,
    encode_example,
    frame_record,
    load_dataset,
    mark_completed,
    write_manifest,
)
from pipeline.subwords import FILE_NAMES, LEARNERS, load_subwords

TextPair = tuple[str, str]
IdPair = tuple[list[int], list[int]]

BUCKET_LENGTHS = (16, 24, 36, 48)
SHARDS_PER_BUCKET = 3
VOCABULARY_SIZE = 700
SPLIT_SIZES = {"train": 310, "dev": 24, "test": 10}


def builtin_splits() -> dict[str, list[TextPair]]:
    """Returns the first pairs of each split of the built-in corpus."""
    return {name: generate_pairs(name)[:size] for name, size in SPLIT_SIZES.items()}


def learn_subwords(kind: str, directory: Path, vocabulary_size: int = VOCABULARY_SIZE) -> Path:
    """Learns subwords from the training pairs and returns their file."""
    pairs = builtin_splits()["train"]
    counts = collections.Counter(word for pair in pairs for side in pair for word in side.split())
    path = directory / FILE_NAMES[kind]
    LEARNERS[kind](counts, vocabulary_size, str(path))
    return path


def write_dataset(directory: Path, splits: Mapping[str, Sequence[TextPair]]) -> Dataset:
    """Writes and loads a dataset directory with several buckets of several shards."""
    directory.mkdir(parents=True)
    path = learn_subwords("bpe", directory)
    dataset = Dataset(
        name="tiny",
        source_language="en",
        target_language="de",
        subwords="bpe",
        subwords_path=path.name,
        subwords_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        vocabulary_size=VOCABULARY_SIZE,
        bucket_lengths=BUCKET_LENGTHS,
        splits={name: _write_split(directory, name, pairs) for name, pairs in splits.items()},
        corpora=(),
        counts={},
        padding_efficiency={},
        config={},
        directory=directory,
    )
    write_manifest(dataset)
    mark_completed(directory)
    return load_dataset(directory)


def encode(directory: Path, pairs: Sequence[TextPair]) -> list[IdPair]:
    """Returns the ids of text pairs as the shards hold them, end symbols included."""
    subwords = load_subwords(directory / FILE_NAMES["bpe"])
    sources, targets = (subwords.encode(list(side)) for side in zip(*pairs, strict=True))
    return [(s + [END_ID], t + [END_ID]) for s, t in zip(sources, targets, strict=True)]


def _write_split(directory: Path, name: str, pairs: Sequence[TextPair]) -> Split:
    (directory / name).mkdir()
    texts: dict[str, str] = {}
    if name != "train":
        for side, sentences in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
            texts[f"{side}_text"] = f"{name}/{side}.txt"
            lines = "".join(f"{sentence}\n" for sentence in sentences)
            (directory / name / f"{side}.txt").write_text(lines, "utf-8")
    buckets: dict[int, list[IdPair]] = {length: [] for length in BUCKET_LENGTHS}
    for pair in encode(directory, pairs):
        longest = max(map(len, pair))
        buckets[min(length for length in BUCKET_LENGTHS if length >= longest)].append(pair)
    shards = [
        _write_shard(directory, f"{name}/bucket-{length:03d}-{part}.tfrecord", length, members)
        for length, bucket in buckets.items()
        for part in range(SHARDS_PER_BUCKET)
        if (members := bucket[part::SHARDS_PER_BUCKET])
    ]
    return Split(name, len(pairs), tuple(shards), **texts)


def _write_shard(directory: Path, path: str, length: int, pairs: Sequence[IdPair]) -> Shard:
    data = b"".join(frame_record(encode_example(*pair)) for pair in pairs)
    (directory / path).write_bytes(data)
    return Shard(
        path=path,
        bucket_length=length,
        pairs=len(pairs),
        source_tokens=sum(len(source) for source, _ in pairs),
        target_tokens=sum(len(target) for _, target in pairs),
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )
