"""The data card of a dataset as text: what preprocessing prints at its end, and the whole card."""

import collections
import itertools
import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.cleaning.rules import TOO_LONG
from pipeline.common.tables import format_table
from pipeline.corpora.inputs import BUILTIN_NAME
from pipeline.corpora.languages import describe_language
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


def format_summary(dataset: Dataset, seconds: float, languages_from: str = "") -> str:
    """Returns the result of preprocessing in a few lines: the headline, counts, the next command.

    Args:
        dataset: a complete dataset.
        seconds: time that preprocessing took.
        languages_from: how the languages are known, if not by flags.
    """
    shards = dataset.splits["train"].shards
    source_tokens = sum(shard.source_tokens for shard in shards)
    target_tokens = sum(shard.target_tokens for shard in shards)
    shapes = sorted({shard.shape for shard in shards})
    return "\n".join(
        [
            f"{_format_headline(dataset, languages_from=languages_from)}, {seconds:.1f} s",
            *(f"  {_format_split(split, dataset.counts[split])}" for split in SPLITS),
            *(f"  {line}" for line in _format_holdout(dataset)),
            *(f"  {line}" for line in _format_choice(dataset)),
            *(f"  {line}" for line in _format_dropout(dataset)),
            *(f"  {line}" for line in _format_tags(dataset)),
            f"  tokens: {source_tokens:,} source, {target_tokens:,} target in rows of "
            f"{', '.join(f'{source}×{target}' for source, target in shapes)}",
            f"  padding efficiency: {dataset.padding_efficiency['total']:.1%}",
            _format_next(dataset),
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


def _format_headline(dataset: Dataset, *names: str, languages_from: str = "") -> str:
    """Returns such as "data/demo: English → German, 37,000 bpe subwords"."""
    codes = dataset.source_language, dataset.target_language
    languages = " → ".join(map(describe_language, codes))
    if languages_from:
        languages += f" ({languages_from})"
    return f"{dataset.directory}: {', '.join((*names, languages, _format_sizes(dataset)))}"


def _format_sizes(dataset: Dataset) -> str:
    """Returns such as "37,000 bpe subwords" of a vocabulary that both sides share.

    Otherwise "8,000 and 9,000 bpe subwords", or of trees "8,000 bpe subwords and 110 symbols".
    """
    source, target = (dataset.vocabularies[side] for side in SIDES)
    if dataset.has_trees:
        return f"{source.size:,} {source.kind} subwords and {target.size:,} symbols"
    sizes = (
        f"{source.size:,}" if dataset.shares_vocabulary else f"{source.size:,} and {target.size:,}"
    )
    return f"{sizes} {source.kind} subwords"


def _format_split(split: str, counts: dict[str, int]) -> str:
    rules = [rule for rule in counts if rule not in ("read", "kept") and counts[rule]]
    dropped = ", ".join(f"{rule} {counts[rule]:,}" for rule in sorted(rules))
    kept = f"{split}: {counts['kept']:,} of {counts['read']:,} pairs"
    return f"{kept} (not: {dropped})" if dropped else kept


def _format_dropout(dataset: Dataset) -> list[str]:
    rate = dataset.config.get("bpe_dropout")
    samples = dataset.config.get("bpe_dropout_samples")
    return [f"BPE-dropout {rate}: {samples} segmentations of each pair of train"] if rate else []


def _format_tags(dataset: Dataset) -> list[str]:
    tags = dataset.config.get("tags")
    learned = [f"tags with a piece of their own: {', '.join(tags)}"] if tags else []
    return learned + [f"{tag} before each source" for tag in [dataset.source_tag] if tag]


def _format_choice(dataset: Dataset) -> list[str]:
    """Returns why the vocabulary has its size, if it was chosen."""
    config, counts = dataset.config, dataset.counts.get("train", {})
    if not counts or config.get("vocabulary_size") or config.get("subwords_model"):
        return []
    pairs = counts["kept"] + counts.get(TOO_LONG, 0)  # those that subwords are learned from
    return [f"vocabulary size: chosen for {pairs:,} pairs; --vocabulary_size sets another"]


def _format_holdout(dataset: Dataset) -> list[str]:
    """Returns how many pairs were held out, if fewer than wanted."""
    splits_with_inputs = {corpus.split for corpus in dataset.corpora}
    splits = [split for split in SPLITS[1:] if split not in splits_with_inputs]
    wanted = dataset.config.get("holdout_pairs", 0)
    if all(dataset.counts[split]["read"] == wanted for split in splits):
        return []
    held_out = ", ".join(f"{dataset.counts[split]['read']:,} for {split}" for split in splits)
    return [
        f"held out: {held_out}, instead of --holdout_pairs={wanted}: at most 5 % of the pairs, or "
        "one pair, for each, all copies of a sentence included"
    ]


def _format_next(dataset: Dataset) -> str:
    """Returns the command that trains on the dataset, or what it lacks for that."""
    if dataset.splits["dev"].pairs:
        return f"Next: python -m trainer.task {_training_flags(dataset)}"
    fewer = " or --holdout_pairs" if dataset.config.get("holdout_pairs") == 0 else ""
    return (
        "Warning: dev has no pairs, and training requires some. Next: the same command with "
        f"--dev_source_files and --dev_target_files{fewer}, and another --output_dir"
    )


def _training_flags(dataset: Dataset) -> str:
    """Returns the first flagfile made for this directory; else a similar one and the paths."""
    for flagfile in sorted(Path("configs").glob("*.flags")):
        if f"--dataset_dir={dataset.directory}" in flagfile.read_text().splitlines():
            return f"--flagfile={flagfile}"
    size = "multi30k" if dataset.splits["train"].pairs < _FEW_PAIRS else "base"
    if dataset.has_trees:
        size = "parsing"
    if dataset.name == BUILTIN_NAME:
        size = "demo"
    run_dir = f"runs/{dataset.directory.rstrip('/').rpartition('/')[2]}"
    return (
        f"--flagfile=configs/{size}.flags --dataset_dir={shlex.quote(dataset.directory)} "
        f"--run_dir={shlex.quote(run_dir)}"
    )


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
    notes = [*_format_choice(dataset), *_format_dropout(dataset), *_format_tags(dataset)]
    return [*(f"{line}  {origin}" for line, origin in lines), *notes]


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
