"""The manifest of a dataset, made from the reports about its blocks."""

import collections
import hashlib
from collections.abc import Mapping, Sequence

from pipeline.blocks.clean_block import CleanReport
from pipeline.blocks.count_block import CountReport
from pipeline.blocks.encode_block import EncodeReport
from pipeline.blocks.heldout import text_paths
from pipeline.cleaning.rule_flags import HELD_OUT
from pipeline.cleaning.rules import OVERLAP
from pipeline.common import storage
from pipeline.config import PreprocessConfig
from pipeline.dataset.packing import padding_efficiency
from pipeline.dataset.schema import Corpus, Dataset, Lengths, Shard, Split, Vocabulary, bucket_name


def make_manifest(
    config: PreprocessConfig,
    *,
    final: str,
    vocabularies: Mapping[str, Vocabulary],
    bucket_shapes: Sequence[Lengths],
    corpora: Sequence[Corpus],
    cleaned: Mapping[str, CleanReport],
    encoded: Mapping[str, Sequence[EncodeReport]],
) -> Dataset:
    """Returns the manifest of the files under `final`.

    Args:
        config: resolved configuration.
        final: directory of the finished files.
        vocabularies: vocabulary of each side.
        bucket_shapes: source and target tokens of rows.
        corpora: identity of every input.
        cleaned: what `CleanPairs` did to each split.
        encoded: reports of `EncodePairs` for each split's blocks, in order.
    """
    splits = {split: _split(split, reports, final) for split, reports in encoded.items()}
    counts = {split: count_pairs(cleaned[split], encoded[split]) for split in encoded}
    for name, _ in config.rules.chosen("train"):  # also rules that dropped nothing
        counts["train"].setdefault(name, 0)
    splits_with_inputs = {corpus.split for corpus in corpora}
    held_out = sum(counts[split]["read"] for split in counts.keys() - splits_with_inputs)
    if held_out:  # `OVERLAP` counted these, but they are training lines
        counts["train"][OVERLAP] -= held_out
        counts["train"][HELD_OUT] = held_out
    source_language, target_language = config.languages.codes
    return Dataset(
        name=config.name,
        source_language=source_language,
        target_language=target_language,
        vocabularies=dict(vocabularies),
        bucket_shapes=tuple(bucket_shapes),
        splits=splits,
        corpora=tuple(corpora),
        counts=counts,
        padding_efficiency=_efficiency(splits["train"].shards),
        recomposed={split: report.recomposed for split, report in cleaned.items()},
        config=config.content(),
        directory=final,
    )


def _split(name: str, reports: Sequence[EncodeReport], final: str) -> Split:
    shards = tuple(shard for report in reports for shard in report.shards)
    pairs = sum(shard.pairs for shard in shards)
    clean_text = tuple(report.text for report in reports if report.text)
    if name == "train":
        return Split(name, pairs, shards, clean_text=clean_text)
    texts = text_paths(name)
    checksums = [hashlib.sha256(storage.read(f"{final}/{text}")).hexdigest() for text in texts]
    return Split(
        name,
        pairs,
        shards,
        source_text=texts[0],
        target_text=texts[1],
        source_sha256=checksums[0],
        target_sha256=checksums[1],
        clean_text=clean_text,
    )


def count_pairs(
    cleaned: CleanReport, later: Sequence[CountReport] | Sequence[EncodeReport]
) -> dict[str, int]:
    """Returns the numbers of pairs read, kept, and dropped by each rule.

    Args:
        cleaned: what `CleanPairs` did to a split.
        later: reports of a later stage, which read what `CleanPairs` wrote.
    """
    counts = collections.Counter[str](read=cleaned.lines)
    for dropped in [cleaned.dropped, *(report.dropped for report in later)]:
        counts.update(dropped)
    return {**counts, "kept": sum(report.kept for report in later)}


def _efficiency(shards: Sequence[Shard]) -> dict[str, float]:
    """Returns the share of real tokens in batches, by bucket and in total, rounded to 4 digits."""
    tokens, rows = collections.Counter[Lengths](), collections.Counter[Lengths]()
    for shard in shards:
        tokens[shard.shape] += shard.source_tokens + shard.target_tokens
        rows[shard.shape] += shard.rows
    by_bucket = {
        bucket_name(shape): padding_efficiency(tokens[shape], rows[shape], shape)
        for shape in sorted(rows)
    }
    positions = sum(sum(shape) * rows[shape] for shape in rows)
    total = tokens.total() / max(positions, 1)
    return {name: round(share, 4) for name, share in {**by_bucket, "total": total}.items()}
