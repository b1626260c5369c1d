"""The data card of a dataset as text for people: counts, buckets, lengths, sample pairs."""

import collections
import itertools
from collections.abc import Iterable, Iterator, Sequence

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

_SAMPLED_PAIRS = 50_000  # for the histogram of lengths: a second's reading
_BINS = 16
_BAR = 40  # characters


def describe(dataset: Dataset, samples: int) -> str:
    """Returns the whole card.

    Args:
      dataset: a complete dataset.
      samples: pairs to show with their subwords.
    """
    sections = {
        "Inputs": _inputs(dataset),
        "Subwords": _subwords(dataset),
        "Pairs": _counts(dataset),
        "Buckets of train": _buckets(dataset),
        "Lengths of train": _lengths(dataset),
        "Samples of train": _samples(dataset, samples),
    }
    head = (
        f"{dataset.directory}: {dataset.name}, "
        f"{dataset.source_language} → {dataset.target_language}, "
        f"{describe_vocabularies(dataset)}\n"
        f"fingerprint {dataset.fingerprint}"
    )
    shown = (f"{title}\n{_indent(lines)}" for title, lines in sections.items() if lines)
    return "\n\n".join([head, *shown])


def describe_vocabularies(dataset: Dataset) -> str:
    """Returns such as "37,000 bpe subwords", or "8,000 and 7,912 …" if the sides share none."""
    source, target = (dataset.vocabularies[side] for side in SIDES)
    sizes = [source.size] if dataset.shares_vocabulary else [source.size, target.size]
    return f"{' and '.join(f'{size:,}' for size in sizes)} {source.kind} subwords"


def describe_dropout(dataset: Dataset) -> list[str]:
    """Returns a line on how often BPE-dropout segments every training pair, if it does."""
    rate, samples = (dataset.config.get(f"bpe_dropout{each}") for each in ("", "_samples"))
    return [f"  BPE-dropout {rate}: {samples} segmentations of each pair of train"] if rate else []


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the rows as lines of aligned columns: the first to the left, the others to the right.

    Example: `[["a", "12"], ["long", "3"]]` gives `["a     12", "long   3"]`.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _indent(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}".rstrip() for line in lines)


def _inputs(dataset: Dataset) -> list[str]:
    rows = [
        [corpus.split, f"{corpus.lines:,} lines", f"SHA-256 {corpus.sha256[:16]}…"]
        for corpus in dataset.corpora
    ]
    lines = table(rows) if rows else []
    return [f"{line}  {one.name}" for line, one in zip(lines, dataset.corpora, strict=True)]


def _subwords(dataset: Dataset) -> list[str]:
    files = dict.fromkeys(dataset.vocabularies[side] for side in SIDES)
    rows = [[each.path, f"{each.size:,}", f"SHA-256 {each.sha256[:16]}…"] for each in files]
    given = dataset.config.get("subwords_model") or ["learned here"] * len(rows)
    lines = [f"{line}  {origin}" for line, origin in zip(table(rows), given, strict=True)]
    return [*lines, *map(str.lstrip, describe_dropout(dataset))]


def _counts(dataset: Dataset) -> list[str]:
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
    return table([*rows, ["sides changed by Unicode NFC", *changed]])


def _buckets(dataset: Dataset) -> list[str]:
    groups = collections.defaultdict[str, list[Shard]](list)
    for shard in dataset.splits["train"].shards:
        groups[bucket_name(shard.shape)].append(shard)
    rows = [["shape", "rows", "pairs", "shards", "source tokens", "target tokens"]]
    rows[0].append("real positions")
    rows += [_bucket(name, groups[name], dataset) for name in sorted(groups)]
    return table([*rows, _bucket("total", dataset.splits["train"].shards, dataset)])


def _bucket(name: str, shards: Sequence[Shard], dataset: Dataset) -> list[str]:
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


def _lengths(dataset: Dataset) -> list[str]:
    """Returns a histogram of the longer sides, of as many pairs of each shard as of any other."""
    split = dataset.splits["train"]
    share = min(1.0, _SAMPLED_PAIRS / max(split.pairs, 1))
    histogram = collections.Counter[int]()
    for shard in split.shards:
        for pair in _read(dataset, shard, round(share * shard.pairs)):
            histogram[max(map(len, pair))] += 1
    if not histogram:
        return []
    width = -(-max(histogram) // _BINS)
    bins = collections.Counter[int]()
    for length, pairs in histogram.items():
        bins[(length - 1) // width] += pairs
    rows = [
        [f"{index * width + 1}–{(index + 1) * width}", f"{bins[index] / bins.total():.1%}"]
        for index in range(max(bins) + 1)
    ]
    bars = ("█" * round(_BAR * bins[i] / max(bins.values())) for i in range(max(bins) + 1))
    title = f"tokens of the longer side, end included; {bins.total():,} of {split.pairs:,} pairs"
    return [title, *(f"{row}  {bar}" for row, bar in zip(table(rows), bars, strict=True))]


def _samples(dataset: Dataset, samples: int) -> list[str]:
    """Returns the first pair of some shards, short to long, each side with its subwords."""
    sides = [load_subwords(dataset.path(dataset.vocabularies[side].path)) for side in SIDES]
    shards = sorted(dataset.splits["train"].shards, key=lambda shard: shard.shape)
    languages = dataset.source_language, dataset.target_language
    lines = []
    shown = min(samples, len(shards))
    for number in range(shown):
        shard = shards[number * len(shards) // shown]
        (pair,) = _read(dataset, shard, 1)
        for language, subwords, ids in zip(languages, sides, pair, strict=True):
            (text,) = subwords.decode([ids])
            lines += [f"{language}  {text}", f"    {' '.join(subwords.pieces(ids))}"]
        lines.append("")
    return lines[:-1]


def _read(dataset: Dataset, shard: Shard, first: int) -> Iterator[tuple[list[int], list[int]]]:
    rows = map(parse_example, read_records(dataset.path(shard.path)))
    pairs = itertools.chain.from_iterable(itertools.starmap(split_row, rows))
    return itertools.islice(pairs, first)
