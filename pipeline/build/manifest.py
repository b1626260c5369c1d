"""From the reports of the stages to the manifest and data card of a dataset."""

import collections
import hashlib
from collections.abc import Mapping, Sequence

from pipeline.build.holdout import text_paths
from pipeline.cleaning.rules import OVERLAP
from pipeline.common import storage
from pipeline.config import PreprocessConfig
from pipeline.dataset.packing import Lengths, padding_efficiency
from pipeline.dataset.schema import Corpus, Dataset, Shard, Split, Vocabulary, bucket_name
from pipeline.stages.block_stages import Report

Reports = Mapping[str, Sequence[Report]]  # of each split's blocks, in order


def describe(
    config: PreprocessConfig,
    *,
    final: str,
    vocabularies: Mapping[str, Vocabulary],
    bucket_shapes: Sequence[Lengths],
    corpora: Sequence[Corpus],
    cleaned: Reports,
    encoded: Reports,
) -> Dataset:
    """Returns the manifest of the files under `final`.

    Args:
      config: resolved configuration.
      final: directory of the finished files.
      vocabularies: of each side.
      bucket_shapes: source and target tokens of rows.
      corpora: identity of every input.
      cleaned: what `CleanPairs` reported.
      encoded: what `EncodePairs` reported.
    """
    splits = {split: _split(split, reports, final) for split, reports in encoded.items()}
    counts = {split: _counts(cleaned[split], encoded[split]) for split in encoded}
    for name, _ in config.rules.chosen("train"):  # a rule that dropped nothing says so
        counts["train"].setdefault(name, 0)
    held_out = sum(counts[s]["read"] for s in counts if s != "train" and not _given(s, corpora))
    if held_out:  # they are train's own lines, not an overlap with it
        counts["train"][OVERLAP] -= held_out
        counts["train"]["held_out"] = held_out
    return Dataset(
        name=config.name,
        source_language=config.source_language,
        target_language=config.target_language,
        vocabularies=dict(vocabularies),
        bucket_shapes=tuple(bucket_shapes),
        splits=splits,
        corpora=tuple(corpora),
        counts=counts,
        padding_efficiency=_efficiency(splits["train"].shards),
        recomposed={
            split: sum(report["recomposed"] for report in reports)
            for split, reports in cleaned.items()
        },
        config=config.content(),
        directory=final,
    )


def _given(split: str, corpora: Sequence[Corpus]) -> bool:
    return any(corpus.split == split for corpus in corpora)


def _split(name: str, reports: Sequence[Report], final: str) -> Split:
    shards = tuple(Shard.from_values(row) for report in reports for row in report["shards"])
    pairs = sum(shard.pairs for shard in shards)
    if name == "train":
        return Split(name, pairs, shards)
    texts = text_paths(name)
    return Split(name, pairs, shards, *texts, *(_sha256(f"{final}/{text}") for text in texts))


def _sha256(path: str) -> str:
    return hashlib.sha256(storage.read(path)).hexdigest()


def _counts(cleaned: Sequence[Report], encoded: Sequence[Report]) -> dict[str, int]:
    """Returns pairs read and kept, and how many each rule dropped."""
    counts = collections.Counter[str](read=sum(report["lines"] for report in cleaned))
    for report in (*cleaned, *encoded):
        counts.update(report["dropped"])
    return {**counts, "kept": sum(report["kept"] for report in encoded)}


def _efficiency(shards: Sequence[Shard]) -> dict[str, float]:
    """Returns the share of real tokens in batches, by bucket and in total, to four digits."""
    tokens, rows = collections.Counter[Lengths](), collections.Counter[Lengths]()
    for shard in shards:
        tokens[shard.shape] += shard.source_tokens + shard.target_tokens
        rows[shard.shape] += shard.rows
    by_bucket = {bucket_name(b): padding_efficiency(tokens[b], rows[b], b) for b in sorted(rows)}
    positions = sum(sum(shape) * rows[shape] for shape in rows)
    total = tokens.total() / max(positions, 1)
    return {name: round(share, 4) for name, share in {**by_bucket, "total": total}.items()}
