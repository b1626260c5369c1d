"""What happens to one block: clean its pairs, count its words, encode it into shards.

Each stage is a picklable function object from a block to a report (JSON values), free of Beam;
`transforms` runs them over all blocks. What a stage writes is named by the block and its content
depends on nothing else, so any number of workers in any order leaves the same bytes.
"""

import collections
import dataclasses
import hashlib
import heapq
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline import duplicates, subwords, text
from pipeline.buckets import bucket_of
from pipeline.cleaning import DUPLICATE, OVERLAP, TOO_LONG, PairRules, reason_to_drop
from pipeline.corpora import Block, read_span
from pipeline.schema import END_ID, Shard, encode_example, frame_record, write_atomically

Pair = tuple[str, str]
Encoded = tuple[list[int], list[int]]
Report = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class CleanPairs:
    """Reads a block, normalises its lines, drops pairs by rule and writes the rest as TSV.

    The report counts lines, sides that NFC changed and what each rule dropped. It names the
    `candidates` pairs with the least sentence keys, as (key, row): the first of them over all
    blocks may be held out.
    """

    folder: str
    rules: PairRules
    candidates: int

    def __call__(self, block: Block) -> Report:
        """Processes one block."""
        is_train = block.split == "train"
        rules = self.rules.chosen(block.split)
        strict = not (is_train and self.rules.config.drop_undecodable)
        sources, targets = (read_span(span, strict=strict) for span in (block.source, block.target))
        pairs, dropped = [], collections.Counter[str]()
        for pair in zip(map(text.normalize, sources), map(text.normalize, targets), strict=True):
            reason = reason_to_drop(*pair, rules)
            if reason:
                dropped[reason] += 1
            else:
                pairs.append(pair)
        write_pairs(self.folder, block.name, pairs)
        if is_train and self.rules.config.drop_duplicates:
            keys = [text.pair_key(*pair) for pair in pairs]
            duplicates.write_keys(self.folder, block.name, keys)
        candidates = self._candidates(pairs) if is_train else []
        return {
            "lines": block.lines,
            "recomposed": text.count_recomposed(itertools.chain(sources, targets)),
            "dropped": dropped,
            "candidates": candidates,
        }

    def _candidates(self, pairs: Sequence[Pair]) -> list[tuple[str, int]]:
        rows: dict[str, int] = {}
        for row, (source, _) in enumerate(pairs):
            rows.setdefault(text.sentence_key(source).hex(), row)
        return heapq.nsmallest(self.candidates, rows.items())


@dataclasses.dataclass(frozen=True)
class CountWords:
    """Counts the words of both sides of a block's clean pairs, into a TSV of word and count."""

    pairs_folder: str
    folder: str
    heldout: frozenset[bytes]
    drop_duplicates: bool = False

    def __call__(self, block: Block) -> Report:
        """Processes one block."""
        pairs, _ = training_pairs(
            self.pairs_folder, block.name, self.heldout, drop_duplicates=self.drop_duplicates
        )
        counts = collections.Counter[str]()
        for source, target in pairs:
            counts.update(source.split(" "))
            counts.update(target.split(" "))
        rows = "".join(f"{word}\t{count}\n" for word, count in counts.items())
        write_atomically(f"{self.folder}/{block.name}.tsv", rows.encode())
        return {}


@dataclasses.dataclass(frozen=True)
class EncodePairs:
    """Encodes a block's clean pairs and writes one TFRecord shard for each bucket they fall in."""

    pairs_folder: str
    folder: str
    subwords_path: str
    boundaries: tuple[int, ...]
    heldout: frozenset[bytes]  # what train must not contain
    num_blocks: Mapping[str, int]  # of each split
    drop_duplicates: bool = False

    def __call__(self, block: Block) -> Report:
        """Processes one block."""
        pairs, dropped = self._read(block)
        pairs.sort(key=lambda pair: text.pair_key(*pair))  # the order inside every shard
        buckets: dict[int, list[Encoded]] = collections.defaultdict(list)
        encoded = encode_pairs(pairs, subwords.shared_subwords(self.subwords_path))
        for source, target in encoded:
            if bucket := bucket_of(max(len(source), len(target)), self.boundaries):
                buckets[bucket].append((source, target))
        too_long = len(pairs) - sum(map(len, buckets.values()))
        shards = [self._write_shard(block, *bucket) for bucket in sorted(buckets.items())]
        rows = [dataclasses.asdict(shard) for shard in shards]
        return {"shards": rows, "dropped": {**dropped, TOO_LONG: too_long}}

    def _read(self, block: Block) -> tuple[list[Pair], dict[str, int]]:
        if block.split != "train":
            return read_pairs(self.pairs_folder, block.name), {}
        return training_pairs(
            self.pairs_folder, block.name, self.heldout, drop_duplicates=self.drop_duplicates
        )

    def _write_shard(self, block: Block, bucket_length: int, pairs: list[Encoded]) -> Shard:
        num_blocks = self.num_blocks[block.split]
        name = f"bucket-{bucket_length:03d}-{block.index:05d}-of-{num_blocks:05d}.tfrecord"
        data = b"".join(frame_record(encode_example(*pair)) for pair in pairs)
        os.makedirs(f"{self.folder}/{block.split}", exist_ok=True)
        write_atomically(f"{self.folder}/{block.split}/{name}", data)
        return Shard(
            path=f"{block.split}/{name}",
            bucket_length=bucket_length,
            pairs=len(pairs),
            source_tokens=sum(len(source) for source, _ in pairs),
            target_tokens=sum(len(target) for _, target in pairs),
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )


def write_pairs(folder: str, name: str, pairs: Sequence[Pair]) -> None:
    """Writes normalised pairs, which hold neither tab nor line end, as TSV."""
    rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
    write_atomically(f"{folder}/{name}.tsv", rows.encode())


def read_pairs(folder: str, name: str, first: int | None = None) -> list[Pair]:
    """Returns the pairs, or the first few of the pairs, which `write_pairs` wrote."""
    with open(f"{folder}/{name}.tsv", "rb") as file:
        rows = [row[:-1].decode().partition("\t") for row in itertools.islice(file, first)]
    return [(source, target) for source, _, target in rows]


def read_counts(folder: str, name: str) -> Iterator[tuple[str, int]]:
    """Yields the words and counts which `CountWords` wrote."""
    for row in Path(folder, f"{name}.tsv").read_bytes().decode().split("\n")[:-1]:
        word, _, count = row.partition("\t")
        yield word, int(count)


def training_pairs(
    folder: str, name: str, heldout: frozenset[bytes], *, drop_duplicates: bool = False
) -> tuple[list[Pair], dict[str, int]]:
    """Returns a block's clean pairs that training may see, and how many each rule dropped.

    Args:
      folder: where `write_pairs` wrote, and `duplicates.mark` if duplicates are dropped.
      name: of the block.
      heldout: keys of sources and of whole pairs that dev and test hold.
      drop_duplicates: leave out what repeats an earlier pair of the corpus.
    """
    pairs, dropped = read_pairs(folder, name), {}
    if drop_duplicates:
        repeats = duplicates.read_repeats(folder, name)
        pairs = [pair for pair, repeat in zip(pairs, repeats, strict=True) if not repeat]
        dropped[DUPLICATE] = sum(repeats)
    seen = len(pairs)
    if heldout:
        pairs = [
            pair
            for pair in pairs
            if text.sentence_key(pair[0]) not in heldout and text.pair_key(*pair) not in heldout
        ]
    return pairs, {**dropped, OVERLAP: seen - len(pairs)}


def encode_pairs(pairs: Sequence[Pair], vocabulary: subwords.Subwords) -> list[Encoded]:
    """Returns the ids of each pair, both sides closed by the end symbol."""
    sides = (vocabulary.encode([pair[side] for pair in pairs]) for side in (0, 1))
    ended = ([[*ids, END_ID] for ids in side] for side in sides)
    return list(zip(*ended, strict=True))
