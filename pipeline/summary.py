"""What a person reads at the end of preprocessing: the data card in a few lines, the next step."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.card import describe_dropout, describe_vocabularies
from pipeline.dataset.schema import SPLITS, Dataset

# Datasets of fewer pairs are for a model of some millions of parameters, others for the paper's.
_FEW_PAIRS = 200_000


@contextlib.contextmanager
def timed() -> Iterator[Callable[[], float]]:
    """Yields a function that returns the seconds since the start."""
    start = time.monotonic()
    yield lambda: time.monotonic() - start


def summarize(dataset: Dataset, seconds: float) -> str:
    """Returns the closing text of the command, which took `seconds`."""
    directory = str(dataset.directory)
    shards = dataset.splits["train"].shards
    tokens = [sum(s.source_tokens for s in shards), sum(s.target_tokens for s in shards)]
    buckets = sorted({shard.shape for shard in shards})
    return "\n".join(
        [
            f"{directory}: {dataset.source_language} → {dataset.target_language}, "
            f"{describe_vocabularies(dataset)}, {seconds:.1f} s",
            *(_describe_counts(split, dataset.counts[split]) for split in SPLITS),
            *describe_dropout(dataset),
            f"  tokens: {tokens[0]:,} source, {tokens[1]:,} target in rows of "
            f"{', '.join(f'{source}×{target}' for source, target in buckets)}",
            f"  padding efficiency: {dataset.padding_efficiency['total']:.1%}",
            f"Next: python -m trainer.task {_training_flags(dataset)}",
        ]
    )


def _training_flags(dataset: Dataset) -> str:
    """Returns the first flagfile made for this directory; else one like it, and where to."""
    place = f"--dataset_dir={dataset.directory}"
    for flagfile in sorted(Path("configs").glob("*.flags")):
        if place in flagfile.read_text().splitlines():
            return f"--flagfile={flagfile}"
    size = "multi30k" if dataset.splits["train"].pairs < _FEW_PAIRS else "base"
    name = dataset.directory.rstrip("/").rpartition("/")[2]
    return f"--flagfile=configs/{size}.flags {place} --run_dir=runs/{name}"


def _describe_counts(name: str, counts: dict[str, int]) -> str:
    rules = [rule for rule in counts if rule not in ("read", "kept") and counts[rule]]
    dropped = ", ".join(f"{rule} {counts[rule]:,}" for rule in sorted(rules))
    kept = f"  {name}: {counts['kept']:,} of {counts['read']:,} pairs"
    return f"{kept} (not: {dropped})" if dropped else kept
