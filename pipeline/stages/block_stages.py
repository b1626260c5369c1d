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
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.cleaning import deduplication, normalization
from pipeline.cleaning.rules import TOO_LONG, PairRules, reason_to_drop
from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block, BlockGroup, read_span
from pipeline.dataset.packing import Lengths, pack
from pipeline.dataset.schema import (
    END_ID,
    SIDES,
    Shard,
    Vocabulary,
    bucket_name,
    encode_example,
    frame_record,
    pack_ids,
)
from pipeline.dataset.tfrecord import count_ids
from pipeline.stages.pair_files import Heldout, Pair, read_pairs, training_pairs, write_pairs
from pipeline.subwords import encoding
from pipeline.subwords.bpe_dropout import NO_DROPOUT, BpeDropout

Encoded = tuple[bytes, bytes]  # ids of source and target as `records.pack_ids` packs them
Report = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class CleanPairs:
    """Reads a block, normalises its lines, drops pairs by rule and writes the rest as TSV.

    The report counts lines, sides that NFC changed and what each rule dropped. A file names the
    `candidates` pairs with the least sentence keys: the first of them over all blocks may be held
    out.
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
        for pair in zip(
            map(normalization.normalize, sources),
            map(normalization.normalize, targets),
            strict=True,
        ):
            reason = reason_to_drop(*pair, rules)
            if reason:
                dropped[reason] += 1
            else:
                pairs.append(pair)
        write_pairs(self.folder, block.name, pairs)
        if is_train and self.rules.config.drop_duplicates:
            keys = [normalization.pair_key(*pair) for pair in pairs]
            deduplication.write_keys(self.folder, block.name, keys)
        if is_train and self.candidates:
            self._write_candidates(block, pairs)
        return {
            "lines": block.lines,
            "recomposed": normalization.count_recomposed(itertools.chain(sources, targets)),
            "dropped": dropped,
        }

    def _write_candidates(self, block: Block, pairs: Sequence[Pair]) -> None:
        rows: dict[str, int] = {}
        for row, (source, _) in enumerate(pairs):
            rows.setdefault(normalization.sentence_key(source).hex(), row)
        least = heapq.nsmallest(self.candidates, rows.items())
        path = f"{self.folder}/{block.name}.candidates"
        write_atomically(path, json.dumps(least).encode())


@dataclasses.dataclass(frozen=True)
class CountWords:
    """Counts the words of each side of the clean pairs of blocks, into a TSV of word and count."""

    pairs_folder: str
    folder: str
    heldout: Heldout
    drop_duplicates: bool = False

    def __call__(self, group: BlockGroup) -> Report:
        """Processes one group of blocks."""
        counts = {side: collections.Counter[str]() for side in SIDES}
        for block in group.blocks:
            pairs, _ = training_pairs(
                self.pairs_folder, block.name, self.heldout, drop_duplicates=self.drop_duplicates
            )
            for number, side in enumerate(SIDES):
                counts[side].update(word for pair in pairs for word in pair[number].split(" "))
        for side in SIDES:
            rows = "".join(f"{word}\t{count}\n" for word, count in counts[side].items())
            write_atomically(f"{self.folder}/{group.name}.{side}.tsv", rows.encode())
        return {}


@dataclasses.dataclass(frozen=True)
class EncodePairs:
    """Encodes a block's clean pairs, packs them into rows, writes one shard for each bucket.

    No row holds two segmentations of a pair. A pair is left out if one of its segmentations is too
    long.
    """

    pairs_folder: str
    folder: str
    vocabularies: tuple[Vocabulary, Vocabulary]  # of source and target, in `folder`
    bucket_shapes: tuple[Lengths, ...]
    heldout: Heldout
    num_blocks: Mapping[str, int]  # of each split
    drop_duplicates: bool = False
    dropout: BpeDropout = NO_DROPOUT  # of the training pairs

    def __call__(self, block: Block) -> Report:
        """Processes one block."""
        pairs, dropped = self._read(block)
        pairs.sort(
            key=lambda pair: normalization.pair_key(*pair)
        )  # decides the order inside every shard
        sides = [
            encoding.shared_subwords(f"{self.folder}/{each.path}", each.sha256)
            for each in self.vocabularies
        ]
        dropout = self.dropout if block.split == "train" else NO_DROPOUT
        samples = self._without_too_long(list(encode_pairs(pairs, sides, dropout)))
        buckets = collections.defaultdict[Lengths, list[list[Encoded]]](list)
        for encoded in samples:
            for shape, rows in pack(pair_lengths(encoded), self.bucket_shapes).items():
                buckets[shape] += [[encoded[n] for n in row] for row in rows]
        shards = [
            self._write_shard(block, shape, buckets[shape])
            for shape in self.bucket_shapes
            if shape in buckets
        ]
        kept = len(samples[0])
        dropped |= {TOO_LONG: len(pairs) - kept}
        return {"shards": list(map(dataclasses.asdict, shards)), "dropped": dropped, "kept": kept}

    def _without_too_long(self, samples: list[list[Encoded]]) -> list[list[Encoded]]:
        """Returns the segmentations of the pairs all of whose segmentations fit into a row."""
        longest_source, longest_target = self.bucket_shapes[-1]
        too_long = {
            number
            for encoded in samples
            for number, (source, target) in enumerate(pair_lengths(encoded))
            if source > longest_source or target > longest_target
        }
        if not too_long:
            return samples
        return [
            [pair for number, pair in enumerate(encoded) if number not in too_long]
            for encoded in samples
        ]

    def _read(self, block: Block) -> tuple[list[Pair], dict[str, int]]:
        if block.split != "train":
            return read_pairs(self.pairs_folder, block.name), {}
        return training_pairs(
            self.pairs_folder, block.name, self.heldout, drop_duplicates=self.drop_duplicates
        )

    def _write_shard(
        self,
        block: Block,
        shape: Lengths,
        rows: list[list[Encoded]],
    ) -> Shard:
        block_name = f"{block.index:05d}-of-{self.num_blocks[block.split]:05d}"
        path = f"{block.split}/bucket-{bucket_name(shape)}-{block_name}.tfrecord"
        data = b"".join(map(_row_record, rows))
        storage.make_folder(f"{self.folder}/{block.split}")
        write_atomically(f"{self.folder}/{path}", data)
        source_tokens, target_tokens = (
            sum(count_ids(pair[side]) for row in rows for pair in row) for side in (0, 1)
        )
        return Shard(
            path=path,
            shape=shape,
            rows=len(rows),
            pairs=sum(map(len, rows)),
            source_tokens=source_tokens,
            target_tokens=target_tokens,
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )


def _row_record(pairs: Sequence[Encoded]) -> bytes:
    """Returns the TFRecord of a row: its pairs end to end."""
    sides = (b"".join(pair[side] for pair in pairs) for side in (0, 1))
    return frame_record(encode_example(*sides))


def read_candidates(folder: str, name: str) -> list[tuple[str, int]]:
    """Returns the keys and rows of the pairs of a block which `CleanPairs` named."""
    return [(key, row) for key, row in json.loads(storage.read(f"{folder}/{name}.candidates"))]


def read_counts(folder: str, name: str, side: str) -> Iterator[tuple[str, int]]:
    """Yields the words of a side and their counts, which `CountWords` wrote."""
    for row in storage.read(f"{folder}/{name}.{side}.tsv").decode().split("\n")[:-1]:
        word, _, count = row.partition("\t")
        yield word, int(count)


def encode_pairs(
    pairs: Sequence[Pair], sides: Sequence[encoding.Subwords], dropout: BpeDropout
) -> Iterator[list[Encoded]]:
    """Yields the packed ids of all pairs by each side's subwords, closed by the end symbol.

    That is once, or as many times as BPE-dropout samples.
    """
    end = pack_ids([END_ID])
    columns = [[pair[number] for pair in pairs] for number in range(len(sides))]
    for seed in range(dropout.samples):
        encoded = (
            vocabulary.sample_packed(lines, dropout.rate, seed)
            if dropout.rate
            else vocabulary.encode_packed(lines)
            for vocabulary, lines in zip(sides, columns, strict=True)
        )
        yield list(zip(*([ids + end for ids in side] for side in encoded), strict=True))


def pair_lengths(encoded: Iterable[Encoded]) -> list[Lengths]:
    """Returns the tokens on each side of each pair."""
    return [(count_ids(source), count_ids(target)) for source, target in encoded]
