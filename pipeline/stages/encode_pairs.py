"""EncodePairs: encodes a block's clean pairs, packs them into rows, writes a shard a bucket."""

import collections
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.cleaning import normalization
from pipeline.cleaning.rules import TOO_LONG
from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block
from pipeline.dataset.packing import pack
from pipeline.dataset.schema import (
    END_ID,
    Lengths,
    Pair,
    Shard,
    Vocabulary,
    bucket_name,
    encode_example,
    frame_record,
    pack_ids,
)
from pipeline.dataset.tfrecord import count_ids
from pipeline.stages.pair_files import Heldout, read_clean_pairs, read_training_pairs
from pipeline.subwords.bpe_dropout import NO_DROPOUT, BpeDropout
from pipeline.subwords.encoding import Subwords, shared_subwords

EncodedPair = tuple[bytes, bytes]  # ids of source and target, as `tfrecord.pack_ids` packs them


@dataclasses.dataclass(frozen=True)
class EncodeReport:
    """What encoding made of one block."""

    shards: tuple[Shard, ...]
    dropped: Mapping[str, int]  # pairs, by rule
    kept: int  # pairs, each counted once however many segmentations it has

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "EncodeReport":
        """Returns the report that `to_json` gave."""
        shards = tuple(map(Shard.from_values, values["shards"]))
        return cls(shards, values["dropped"], values["kept"])


@dataclasses.dataclass(frozen=True)
class EncodePairs:
    """The stage function: from a block's clean pairs to one TFRecord shard for each bucket.

    BPE-dropout may draw several segmentations (samples) of a pair. No row holds two samples of a
    pair, and a pair is dropped if one of its samples is too long.
    """

    pairs_folder: str
    folder: str
    vocabularies: tuple[Vocabulary, Vocabulary]  # of source and target, in `folder`
    bucket_shapes: tuple[Lengths, ...]
    heldout: Heldout
    num_blocks: Mapping[str, int]  # of each split
    drop_duplicates: bool = False
    dropout: BpeDropout = NO_DROPOUT  # of the training pairs
    source_tag: str = ""  # before each source

    def __call__(self, block: Block) -> EncodeReport:
        """Processes one block."""
        pairs, dropped = self._read(block)
        # By key, because this order decides the order inside every shard.
        pairs.sort(key=lambda pair: normalization.pair_key(*pair))
        subwords = [
            shared_subwords(f"{self.folder}/{vocabulary.path}", vocabulary.sha256)
            for vocabulary in self.vocabularies
        ]
        dropout = self.dropout if block.split == "train" else NO_DROPOUT
        encoded = encode_pairs(pairs, subwords, dropout, source_tag=self.source_tag)
        samples = self._without_too_long(list(encoded))
        rows = self._pack(samples)
        shards = tuple(
            self._write_shard(block, shape, rows[shape])
            for shape in self.bucket_shapes
            if shape in rows
        )
        kept = len(samples[0])
        return EncodeReport(shards, {**dropped, TOO_LONG: len(pairs) - kept}, kept)

    def _read(self, block: Block) -> tuple[list[Pair], dict[str, int]]:
        if block.split != "train":
            return read_clean_pairs(self.pairs_folder, block.name), {}
        return read_training_pairs(
            self.pairs_folder, block.name, self.heldout, drop_duplicates=self.drop_duplicates
        )

    def _without_too_long(self, samples: list[list[EncodedPair]]) -> list[list[EncodedPair]]:
        """Returns the samples without pairs that exceed the longest row in some sample."""
        longest_source, longest_target = self.bucket_shapes[-1]
        too_long = {
            index
            for encoded in samples
            for index, (source, target) in enumerate(pair_lengths(encoded))
            if source > longest_source or target > longest_target
        }
        if not too_long:
            return samples
        return [
            [pair for index, pair in enumerate(encoded) if index not in too_long]
            for encoded in samples
        ]

    def _pack(
        self, samples: Sequence[Sequence[EncodedPair]]
    ) -> dict[Lengths, list[list[EncodedPair]]]:
        """Returns the rows of each bucket in use, packed sample by sample."""
        buckets = collections.defaultdict[Lengths, list[list[EncodedPair]]](list)
        for encoded in samples:
            for shape, rows in pack(pair_lengths(encoded), self.bucket_shapes).items():
                buckets[shape] += [[encoded[index] for index in row] for row in rows]
        return buckets

    def _write_shard(
        self,
        block: Block,
        shape: Lengths,
        rows: list[list[EncodedPair]],
    ) -> Shard:
        block_name = f"{block.index:05d}-of-{self.num_blocks[block.split]:05d}"
        path = f"{block.split}/bucket-{bucket_name(shape)}-{block_name}.tfrecord"
        data = b"".join(map(_to_record, rows))
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


def encode_pairs(
    pairs: Sequence[Pair],
    subwords: Sequence[Subwords],
    dropout: BpeDropout,
    *,
    source_tag: str = "",
) -> Iterator[list[EncodedPair]]:
    """Yields the packed ids of all pairs, each side closed by the end symbol: one list a sample.

    Without BPE-dropout there is one sample. A tag, unless "", stands before each source.
    """
    end = pack_ids([END_ID])
    columns = [[pair[side] for pair in pairs] for side in range(len(subwords))]
    if source_tag:
        columns[0] = [f"{source_tag} {source}" for source in columns[0]]
    for seed in range(dropout.samples):
        encoded = (
            vocabulary.sample_packed(lines, dropout.rate, seed)
            if dropout.rate
            else vocabulary.encode_packed(lines)
            for vocabulary, lines in zip(subwords, columns, strict=True)
        )
        yield list(zip(*([ids + end for ids in side] for side in encoded), strict=True))


def pair_lengths(encoded: Iterable[EncodedPair]) -> list[Lengths]:
    """Returns the tokens on each side of each pair."""
    return [(count_ids(source), count_ids(target)) for source, target in encoded]


def _to_record(pairs: Sequence[EncodedPair]) -> bytes:
    """Returns the TFRecord of a row: its pairs end to end."""
    sides = (b"".join(pair[side] for pair in pairs) for side in (0, 1))
    return frame_record(encode_example(*sides))
