"""Mixing datasets at reading: which share of the training each of them has. Free of TensorFlow.

An epoch of a mixture passes over every dataset at least once, and over one that is up-sampled more
often, each pass in an order of its own. Shares are of target tokens: those that the loss is a mean
over.
"""

from collections.abc import Sequence
from fractions import Fraction

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset, load_dataset
from trainer.config import TrainingConfig

# Bounds the integers that the passes of long runs are counted with; shares are exact to a
# millionth.
_MOST_PARTS_OF_A_PASS = 10**6


def load_datasets(directories: Sequence[str]) -> list[Dataset]:
    """Reads the datasets of a mixture, or the only one.

    Raises:
        UserError: as `load_dataset`; or one has other subwords or shapes of rows than the first.
    """
    datasets = [load_dataset(directory) for directory in directories]
    first = datasets[0]
    for dataset in datasets[1:]:
        remedy = f"preprocess it with python -m pipeline.preprocess --like={first.directory} …"
        if dataset.vocabularies != first.vocabularies:
            raise UserError(
                f"{dataset.directory} has the subwords {_format_subwords(dataset)}, expected "
                f"those of {first.directory}, {_format_subwords(first)}: {remedy}"
            )
        if dataset.bucket_shapes != first.bucket_shapes:
            raise UserError(
                f"{dataset.directory} has rows of {_format_shapes(dataset)} tokens, expected "
                f"those of {first.directory}, {_format_shapes(first)}: {remedy}"
            )
    return datasets


def token_shares(datasets: Sequence[Dataset], training: TrainingConfig) -> list[Fraction]:
    """Returns the share of the target tokens that comes from each dataset; they sum to 1.

    Shares are proportional to `dataset_weights`, if given, else to the target tokens of each
    dataset to the power 1 / `dataset_temperature`.

    Example: datasets of 900,000 and 100,000 target tokens have shares of 9/10 and 1/10, at a
    temperature of 2 of 3/4 and 1/4.
    """
    power = 1 / training.dataset_temperature
    tokens = map(count_target_tokens, datasets)
    weights = training.weights or [
        Fraction(count) if power == 1 else Fraction(count**power) for count in tokens
    ]
    return [weight / sum(weights) for weight in weights]


def passes_per_epoch(datasets: Sequence[Dataset], training: TrainingConfig) -> list[Fraction]:
    """Returns how often an epoch passes over each dataset: 1 for the least up-sampled one."""
    rates = [
        share / count_target_tokens(dataset)
        for dataset, share in zip(datasets, token_shares(datasets, training), strict=True)
    ]
    return [(rate / min(rates)).limit_denominator(_MOST_PARTS_OF_A_PASS) for rate in rates]


def format_mixture(datasets: Sequence[Dataset], training: TrainingConfig) -> str:
    """Returns what the log says of a mixture: shares, and passes over each dataset in an epoch."""
    shares, passes = token_shares(datasets, training), passes_per_epoch(datasets, training)
    parts = [
        f"{dataset.directory} {float(share):.2%} ({float(number):.2f} passes an epoch)"
        for dataset, share, number in zip(datasets, shares, passes, strict=True)
    ]
    return f"target tokens: {', '.join(parts)}"


def count_target_tokens(dataset: Dataset) -> int:
    """Returns the target tokens of the training split, end symbols included."""
    return sum(shard.target_tokens for shard in dataset.splits["train"].shards)


def name_datasets(directories: Sequence[str]) -> list[str]:
    """Returns a short name for each directory: its last part, or all of it if two share that.

    Example:
        >>> name_datasets(["data/news", "data/captions"])
        ['news', 'captions']
    """
    names = [directory.rstrip("/").rpartition("/")[2] for directory in directories]
    return names if len({*names}) == len(names) else list(directories)


def _format_subwords(dataset: Dataset) -> str:
    checksums = dict.fromkeys(entry.sha256[:12] for entry in dataset.vocabularies.values())
    return f"of SHA-256 {' and '.join(f'{checksum}…' for checksum in checksums)}"


def _format_shapes(dataset: Dataset) -> str:
    return ", ".join(f"{source}×{target}" for source, target in dataset.bucket_shapes)
