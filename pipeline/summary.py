"""What a person reads at the end of preprocessing: the data card in a few lines, the next step."""

import contextlib
import time
from collections.abc import Callable, Iterator

from pipeline.card import describe_dropout, describe_vocabularies
from pipeline.schema import SPLITS, Dataset

# Flagfiles whose experiment starts from this directory; others start from the paper's base.
_FLAGFILES = {"data/demo": "configs/demo.flags", "data/multi30k": "configs/multi30k.flags"}
_DEFAULT_FLAGFILE = "configs/base.flags"


@contextlib.contextmanager
def timed() -> Iterator[Callable[[], float]]:
    """Yields a function that returns the seconds since the start."""
    start = time.monotonic()
    yield lambda: time.monotonic() - start


def summarize(dataset: Dataset, seconds: float) -> str:
    """Returns the closing text of the command, which took `seconds`."""
    directory = str(dataset.directory)
    flagfile = _FLAGFILES.get(directory, _DEFAULT_FLAGFILE)
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
            f"Next: python -m trainer.task --flagfile={flagfile} --dataset_dir={directory}",
        ]
    )


def _describe_counts(name: str, counts: dict[str, int]) -> str:
    rules = [rule for rule in counts if rule not in ("read", "kept") and counts[rule]]
    dropped = ", ".join(f"{rule} {counts[rule]:,}" for rule in sorted(rules))
    kept = f"  {name}: {counts['kept']:,} of {counts['read']:,} pairs"
    return f"{kept} (not: {dropped})" if dropped else kept
