"""Encoding a block: its clean pairs become ids, packed into rows, in one shard for each bucket."""

import collections
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.blocks.clean_text import write_clean_text
from pipeline.blocks.heldout_text import HeldoutText
from pipeline.blocks.pair_files import read_clean_pairs, read_training_pairs
from pipeline.blocks.repeats import Repeats
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
    TextFile,
    Vocabulary,
    bucket_name,
    encode_example,
    frame_record,
    pack_ids,
)
from pipeline.dataset.tfrecord import count_ids
from pipeline.subwords.bpe_dropout import NO_DROPOUT, BpeDropout
from pipeline.subwords.encoding import Subwords, shared_subwords

EncodedPair = tuple[bytes, bytes]  # ids of source and target, as `tfrecord.pack_ids` packs them


@dataclasses.dataclass(frozen=True)
class EncodeReport:
    """What encoding made of one block."""

    shards: tuple[Shard, ...]
    dropped: Mapping[str, int]  # pairs, by rule
    kept: int  # pairs, each counted once however many segmentations it has
    text: TextFile | None = None

    @property
    def counters(self) -> Mapping[str, int]:
        """Returns pairs kept and dropped, rows, and their positions and tokens on both sides."""
        return {
            **self.dropped,
            "kept": self.kept,
            "rows": sum(shard.rows for shard in self.shards),
            "positions": sum(shard.positions for shard in self.shards),
            "source_tokens": sum(shard.source_tokens for shard in self.shards),
            "target_tokens": sum(shard.target_tokens for shard in self.shards),
        }

    @property
    def distributions(self) -> Mapping[str, Sequence[int]]:
        """Returns the padding of a row, positions on both sides, as the mean of each shard."""
        return {"row_padding": [round(shard.padding / shard.rows) for shard in self.shards]}

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "EncodeReport":
        """Returns the report that `to_json` gave."""
        shards = tuple(map(Shard.from_values, values["shards"]))
        text = TextFile(**values["text"]) if values["text"] else None
        return cls(shards, values["dropped"], values["kept"], text)


@dataclasses.dataclass(frozen=True)
class Encoding:
    """How all pairs are encoded: subwords and shapes of rows."""

    folder: str  # of the dataset's files
    vocabularies: tuple[Vocabulary, Vocabulary]  # of source and target
    dropout: BpeDropout = NO_DROPOUT  # of the training pairs
    source_tag: str = ""  # before each source

    def encode(self, pairs: Sequence[Pair], split: str) -> Iterator[list[EncodedPair]]:
        """Yields the packed ids of all pairs: one list a sample, as `encode_pairs`."""
        subwords = [
            shared_subwords(f"{self.folder}/{vocabulary.path}", vocabulary.sha256)
            for vocabulary in self.vocabularies
        ]
        dropout = self.dropout if split == "train" else NO_DROPOUT
        return encode_pairs(pairs, subwords, dropout, source_tag=self.source_tag)


@dataclasses.dataclass(frozen=True)
class EncodeBlock:
    """From a block's clean pairs to one TFRecord shard for each bucket.

    BPE-dropout may draw several segmentations (samples) of a pair. No row holds two samples of a
    pair, and a pair is dropped if one of its samples is too long.
    """

    pairs_folder: str
    folder: str
    writes_text: bool = False  # also the pairs' text, in the order of the corpus

    def __call__(
        self,
        block: Block,
        encoding: Encoding,
        shapes: Sequence[Lengths],
        heldout: HeldoutText,
        repeats: Repeats | None = None,
    ) -> EncodeReport:
        """Processes one block."""
        in_corpus_order, dropped = self._read(block, heldout, repeats)
        # By key, because this order decides the order inside every shard.
        pairs = sorted(in_corpus_order, key=lambda pair: normalization.pair_key(*pair))
        encoded = list(encoding.encode(pairs, block.split))
        too_long = _find_too_long(encoded, shapes[-1])
        samples = [_without(sample, too_long) for sample in encoded]
        rows = _pack(samples, shapes)
        shards = tuple(
            self._write_shard(block, shape, rows[shape]) for shape in shapes if shape in rows
        )
        text = None
        if self.writes_text:
            lost = {pairs[index] for index in too_long}
            kept_pairs = [pair for pair in in_corpus_order if pair not in lost]
            storage.make_folder(f"{self.folder}/{block.split}")
            text = write_clean_text(self.folder, block, kept_pairs)
        kept = len(pairs) - len(too_long)
        return EncodeReport(shards, {**dropped, TOO_LONG: len(too_long)}, kept, text)

    def _read(
        self, block: Block, heldout: HeldoutText, repeats: Repeats | None
    ) -> tuple[list[Pair], dict[str, int]]:
        if block.split != "train":
            return read_clean_pairs(self.pairs_folder, block.name), {}
        return read_training_pairs(self.pairs_folder, block, heldout.read(), repeats)

    def _write_shard(
        self,
        block: Block,
        shape: Lengths,
        rows: list[list[EncodedPair]],
    ) -> Shard:
        path = f"{block.split}/bucket-{bucket_name(shape)}-{block.place}.tfrecord"
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


def _find_too_long(samples: Iterable[Sequence[EncodedPair]], longest: Lengths) -> set[int]:
    """Returns the indices of pairs that exceed the longest row in some sample."""
    return {
        index
        for encoded in samples
        for index, (source, target) in enumerate(pair_lengths(encoded))
        if source > longest[0] or target > longest[1]
    }


def _without(encoded: list[EncodedPair], indices: set[int]) -> list[EncodedPair]:
    if not indices:
        return encoded
    return [pair for index, pair in enumerate(encoded) if index not in indices]


def _pack(
    samples: Sequence[Sequence[EncodedPair]], shapes: Sequence[Lengths]
) -> dict[Lengths, list[list[EncodedPair]]]:
    """Returns the rows of each bucket in use, packed sample by sample."""
    buckets = collections.defaultdict[Lengths, list[list[EncodedPair]]](list)
    for encoded in samples:
        for shape, rows in pack(pair_lengths(encoded), shapes).items():
            buckets[shape] += [[encoded[index] for index in row] for row in rows]
    return buckets


def _to_record(pairs: Sequence[EncodedPair]) -> bytes:
    """Returns the TFRecord of a row: its pairs end to end."""
    sides = (b"".join(pair[side] for pair in pairs) for side in (0, 1))
    return frame_record(encode_example(*sides))
