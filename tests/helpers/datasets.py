"""Small dataset directories of the built-in corpus, written with the contract's own functions."""

import collections
import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.corpora.builtin import generate_pairs
from pipeline.dataset.schema import (
    END_ID,
    SIDES,
    Dataset,
    Shard,
    Split,
    Vocabulary,
    bucket_name,
    encode_example,
    frame_record,
    load_dataset,
    mark_completed,
    pack_ids,
    write_manifest,
)
from pipeline.subwords import symbols
from pipeline.subwords.encoding import FILE_NAMES, SYMBOLS, load_subwords
from pipeline.subwords.learning import LEARNERS

TextPair = tuple[str, str]
IdPair = tuple[list[int], list[int]]
Shape = tuple[int, int]

SHAPES = ((16, 18), (24, 26), (36, 40), (48, 52))  # of rows, here of one pair each
SHARDS_PER_BUCKET = 3
VOCABULARY_SIZE = 700
# Rows by shape; tests of epochs rely on what divides them.
ROWS = {"train": (51, 126, 113, 20), "dev": (3, 9, 10, 2)}
SPLIT_SIZES = {"train": 500, "dev": 120, "test": 10}  # enough pairs for these rows
MIN_WORDS = 5  # per source sentence; shorter ones have too few words for the vocabulary


def builtin_splits() -> dict[str, list[TextPair]]:
    """Returns the first pairs of each split of the built-in corpus, without short sentences."""
    return {
        name: [pair for pair in generate_pairs(name) if len(pair[0].split()) >= MIN_WORDS][:size]
        for name, size in SPLIT_SIZES.items()
    }


def learn_subwords(
    kind: str,
    directory: Path,
    vocabulary_size: int = VOCABULARY_SIZE,
    *,
    tags: Sequence[str] = (),
) -> Path:
    """Learns subwords from the training pairs and returns their file; as symbols, all words."""
    pairs = builtin_splits()["train"]
    counts = collections.Counter(word for pair in pairs for side in pair for word in side.split())
    path = directory / FILE_NAMES[kind]
    if kind == SYMBOLS:
        symbols.write(counts, str(path), tags=True)
    else:
        LEARNERS[kind](counts, vocabulary_size, str(path), tags=tags)
    return path


def write_dataset(directory: Path, splits: Mapping[str, Sequence[TextPair]]) -> Dataset:
    """Writes and loads a dataset directory with several buckets of several shards."""
    directory.mkdir(parents=True)
    path = learn_subwords("bpe", directory)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    vocabulary = Vocabulary("bpe", path.name, sha256, VOCABULARY_SIZE)
    dataset = Dataset(
        name="tiny",
        source_language="en",
        target_language="de",
        vocabularies=dict.fromkeys(SIDES, vocabulary),
        bucket_shapes=SHAPES,
        splits={name: _write_split(directory, name, pairs) for name, pairs in splits.items()},
        corpora=(),
        counts={},
        padding_efficiency={},
        config={},
        directory=str(directory),
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
    buckets: dict[Shape, list[IdPair]] = {shape: [] for shape in SHAPES}
    limits = dict(zip(SHAPES, ROWS.get(name, [len(pairs)] * len(SHAPES)), strict=True))
    kept: list[TextPair] = []
    for pair, (source, target) in zip(pairs, encode(directory, pairs), strict=True):
        shape = next(shape for shape in SHAPES if max(len(source), len(target)) <= shape[0])
        if len(buckets[shape]) < limits[shape]:
            buckets[shape].append((source, target))
            kept.append(pair)
    if name in ROWS and len(kept) < sum(ROWS[name]):
        raise ValueError(f"Received {len(kept)} {name} pairs that fit; expected {sum(ROWS[name])}.")
    shards = [
        _write_shard(directory, f"{name}/bucket-{bucket_name(shape)}-{part}", shape, members)
        for shape, bucket in buckets.items()
        for part in range(SHARDS_PER_BUCKET)
        if (members := bucket[part::SHARDS_PER_BUCKET])
    ]
    texts: dict[str, Any] = {} if name == "train" else _write_texts(directory, name, kept)
    return Split(name, len(kept), tuple(shards), **texts)


def _write_texts(directory: Path, name: str, pairs: Sequence[TextPair]) -> dict[str, Any]:
    """Writes the raw text of a split and returns the paths as `Split` takes them."""
    texts = {}
    for side, sentences in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        texts[f"{side}_text"] = f"{name}/{side}.txt"
        lines = "".join(f"{sentence}\n" for sentence in sentences)
        (directory / name / f"{side}.txt").write_text(lines, "utf-8")
    return texts


def _write_shard(directory: Path, path: str, shape: Shape, pairs: Sequence[IdPair]) -> Shard:
    data = b"".join(frame_record(encode_example(*map(pack_ids, pair))) for pair in pairs)
    (directory / path).write_bytes(data)
    return Shard(
        path=path,
        shape=shape,
        rows=len(pairs),
        pairs=len(pairs),
        source_tokens=sum(len(source) for source, _ in pairs),
        target_tokens=sum(len(target) for _, target in pairs),
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def split_in_two(dataset: Dataset) -> list[Dataset]:
    """Returns two datasets with a third and two thirds of the rows of train; they share none."""
    train = dataset.splits["train"]
    thirds = [train.shards[part::SHARDS_PER_BUCKET] for part in range(SHARDS_PER_BUCKET)]
    parts = {"third": thirds[0], "rest": tuple(shard for part in thirds[1:] for shard in part)}
    return [
        dataclasses.replace(
            dataset,
            name=name,
            fingerprint=name,
            splits=dataset.splits
            | {"train": Split("train", sum(shard.pairs for shard in shards), tuple(shards))},
        )
        for name, shards in parts.items()
    ]
