"""The data card of a dataset as text: what preprocessing prints at its end, and the whole card."""

import collections
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.common.tables import format_table
from pipeline.dataset.schema import (
    SIDES,
    SPLITS,
    Dataset,
    Shard,
    bucket_name,
    parse_example,
    read_records,
    split_row,
)
from pipeline.subwords.encoding import load_subwords

_FEW_PAIRS = 200_000  # below: a model of some millions of parameters, else one of the paper's
_SAMPLED_PAIRS = 50_000  # for the histogram of lengths: a second's reading
_BINS = 16
_BAR = 40  # characters


def format_summary(dataset: Dataset, seconds: float) -> str:
    """Returns the result of preprocessing in a few lines: the headline, counts, the next command.

    Args:
        dataset: a complete dataset.
        seconds: time that preprocessing took.
    """
    shards = dataset.splits["train"].shards
    source_tokens = sum(shard.source_tokens for shard in shards)
    target_tokens = sum(shard.target_tokens for shard in shards)
    shapes = sorted({shard.shape for shard in shards})
    return "\n".join(
        [
            f"{_format_headline(dataset)}, {seconds:.1f} s",
            *(f"  {_format_split(split, dataset.counts[split])}" for split in SPLITS),
            *(f"  {line}" for line in _format_dropout(dataset)),
            f"  tokens: {source_tokens:,} source, {target_tokens:,} target in rows of "
            f"{', '.join(f'{source}×{target}' for source, target in shapes)}",
            f"  padding efficiency: {dataset.padding_efficiency['total']:.1%}",
            f"Next: python -m trainer.task {_training_flags(dataset)}",
        ]
    )


def format_card(dataset: Dataset, *, samples: int, sampled_pairs: int = _SAMPLED_PAIRS) -> str:
    """Returns the whole data card.

    Args:
        dataset: a complete dataset.
        samples: pairs to show with their subwords.
        sampled_pairs: about how many pairs the histogram of lengths reads.
    """
    sections = {
        "Inputs": _format_inputs(dataset),
        "Subwords": _format_subwords(dataset),
        "Pairs": _format_counts(dataset),
        "Buckets of train": _format_buckets(dataset),
        "Lengths of train": _format_lengths(dataset, sampled_pairs),
        "Samples of train": _format_samples(dataset, samples),
    }
    paragraphs = [f"{_format_headline(dataset, dataset.name)}\nfingerprint {dataset.fingerprint}"]
    for title, lines in sections.items():
        if lines:
            paragraphs.append("\n".join([title, *(f"  {line}".rstrip() for line in lines)]))
    return "\n\n".join(paragraphs)


def _format_headline(dataset: Dataset, *names: str) -> str:
    """Returns such as "data/demo: en → de, 37,000 bpe subwords"; two sizes if none are shared."""
    source, target = (dataset.vocabularies[side] for side in SIDES)
    sizes = [source.size] if dataset.shares_vocabulary else [source.size, target.size]
    languages = f"{dataset.source_language} → {dataset.target_language}"
    subwords = f"{' and '.join(f'{size:,}' for size in sizes)} {source.kind} subwords"
    return f"{dataset.directory}: {', '.join((*names, languages, subwords))}"


def _format_split(split: str, counts: dict[str, int]) -> str:
    rules = [rule for rule in counts if rule not in ("read", "kept") and counts[rule]]
    dropped = ", ".join(f"{rule} {counts[rule]:,}" for rule in sorted(rules))
    kept = f"{split}: {counts['kept']:,} of {counts['read']:,} pairs"
    return f"{kept} (not: {dropped})" if dropped else kept


def _format_dropout(dataset: Dataset) -> list[str]:
    rate = dataset.config.get("bpe_dropout")
    samples = dataset.config.get("bpe_dropout_samples")
    return [f"BPE-dropout {rate}: {samples} segmentations of each pair of train"] if rate else []


def _training_flags(dataset: Dataset) -> str:
    """Returns the first flagfile made for this directory; else a similar one and the paths."""
    dataset_dir = f"--dataset_dir={dataset.directory}"
    for flagfile in sorted(Path("configs").glob("*.flags")):
        if dataset_dir in flagfile.read_text().splitlines():
            return f"--flagfile={flagfile}"
    size = "multi30k" if dataset.splits["train"].pairs < _FEW_PAIRS else "base"
    name = dataset.directory.rstrip("/").rpartition("/")[2]
    return f"--flagfile=configs/{size}.flags {dataset_dir} --run_dir=runs/{name}"


def _format_inputs(dataset: Dataset) -> list[str]:
    rows = [
        [corpus.split, f"{corpus.lines:,} lines", f"SHA-256 {corpus.sha256[:16]}…"]
        for corpus in dataset.corpora
    ]
    lines = zip(format_table(rows), dataset.corpora, strict=True)
    return [f"{line}  {corpus.name}" for line, corpus in lines]


def _format_subwords(dataset: Dataset) -> list[str]:
    files = dict.fromkeys(dataset.vocabularies[side] for side in SIDES)
    rows = [[file.path, f"{file.size:,}", f"SHA-256 {file.sha256[:16]}…"] for file in files]
    origins = dataset.config.get("subwords_model") or ["learned here"] * len(rows)
    lines = zip(format_table(rows), origins, strict=True)
    return [*(f"{line}  {origin}" for line, origin in lines), *_format_dropout(dataset)]


def _format_counts(dataset: Dataset) -> list[str]:
    counts = dataset.counts
    if not counts:
        return []
    splits = [split for split in SPLITS if split in counts]
    names = sorted({name for split in counts.values() for name in split} - {"read", "kept"})
    rows = [["", *splits]]
    for name in ("read", *names, "kept"):
        sign = "" if name in ("read", "kept") else "- "
        cells = (counts[split].get(name) for split in splits)
        rows.append([f"{sign}{name}", *("" if n is None else f"{n:,}" for n in cells)])
    changed = (f"{dataset.recomposed.get(split, 0):,}" for split in splits)
    return format_table([*rows, ["sides changed by Unicode NFC", *changed]])


def _format_buckets(dataset: Dataset) -> list[str]:
    groups = collections.defaultdict[str, list[Shard]](list)
    for shard in dataset.splits["train"].shards:
        groups[bucket_name(shard.shape)].append(shard)
    header = ["shape", "rows", "pairs", "shards", "source tokens", "target tokens"]
    rows = [[*header, "real positions"]]
    rows += [_bucket_row(name, groups[name], dataset) for name in sorted(groups)]
    return format_table([*rows, _bucket_row("total", dataset.splits["train"].shards, dataset)])


def _bucket_row(name: str, shards: Sequence[Shard], dataset: Dataset) -> list[str]:
    efficiency = dataset.padding_efficiency.get(name)
    return [
        name,
        f"{sum(shard.rows for shard in shards):,}",
        f"{sum(shard.pairs for shard in shards):,}",
        f"{len(shards):,}",
        f"{sum(shard.source_tokens for shard in shards):,}",
        f"{sum(shard.target_tokens for shard in shards):,}",
        "" if efficiency is None else f"{efficiency:.1%}",
    ]


def _format_lengths(dataset: Dataset, sampled_pairs: int) -> list[str]:
    """Returns a histogram of the longer sides, of the same share of every shard's pairs."""
    split = dataset.splits["train"]
    share = min(1.0, sampled_pairs / max(split.pairs, 1))
    lengths = [
        max(map(len, pair))
        for shard in split.shards
        for pair in _read_pairs(dataset, shard, round(share * shard.pairs))
    ]
    if not lengths:
        return []
    width = math.ceil(max(lengths) / _BINS)
    bins = collections.Counter((length - 1) // width for length in lengths)
    rows = [
        [f"{index * width + 1}–{(index + 1) * width}", f"{bins[index] / len(lengths):.1%}"]
        for index in range(max(bins) + 1)
    ]
    bars = ["█" * round(_BAR * bins[index] / max(bins.values())) for index in range(max(bins) + 1)]
    title = f"tokens of the longer side, end included; {len(lengths):,} of {split.pairs:,} pairs"
    return [title, *(f"{row}  {bar}" for row, bar in zip(format_table(rows), bars, strict=True))]


def _format_samples(dataset: Dataset, samples: int) -> list[str]:
    """Returns the first pair of some shards, short to long, each side with its subwords."""
    sides = [load_subwords(dataset.path(dataset.vocabularies[side].path)) for side in SIDES]
    shards = sorted(dataset.splits["train"].shards, key=lambda shard: shard.shape)
    languages = dataset.source_language, dataset.target_language
    lines = []
    samples = min(samples, len(shards))
    for number in range(samples):
        shard = shards[number * len(shards) // samples]
        (pair,) = _read_pairs(dataset, shard, 1)
        for language, subwords, ids in zip(languages, sides, pair, strict=True):
            (text,) = subwords.decode([ids])
            lines += [f"{language}  {text}", f"    {' '.join(subwords.pieces(ids))}"]
        lines.append("")
    return lines[:-1]


def _read_pairs(
    dataset: Dataset, shard: Shard, limit: int
) -> Iterator[tuple[list[int], list[int]]]:
    rows = map(parse_example, read_records(dataset.path(shard.path)))
    pairs = itertools.chain.from_iterable(itertools.starmap(split_row, rows))
    return itertools.islice(pairs, limit)
