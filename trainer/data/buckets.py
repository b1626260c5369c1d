"""Buckets: the rows of one shape of one dataset, and how they are batched."""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset, Shard
from trainer.config import TrainingConfig
from trainer.data.mixture import passes_per_epoch

BatchShape = tuple[int, int, int]  # rows, source length and target length of a global batch


@dataclasses.dataclass(frozen=True)
class Bucket:
    """Rows of one shape, each packing one or more pairs, and how they are batched.

    shape: source and target tokens of a row.
    rows: number of rows in the split.
    batch_size: rows of a global batch, a multiple of its number of parts.
    shards: paths of the TFRecord files.
    dataset: number of the dataset in a mixture, from 0.
    passes: how often an epoch contains the rows; above 1 if a mixture up-samples the dataset.
    """

    shape: tuple[int, int]
    rows: int
    batch_size: int
    shards: tuple[str, ...]
    dataset: int = 0
    passes: Fraction = Fraction(1)

    @property
    def batch_shape(self) -> BatchShape:
        """The shape of a global batch."""
        return (self.batch_size, *self.shape)

    def batches_before(self, epoch: int) -> int:
        """Counts the full batches in all epochs before `epoch`."""
        return math.floor(epoch * self.passes * self.rows / self.batch_size)


def make_buckets(
    dataset: Dataset, split: str, *, tokens_per_batch: int, parts: int
) -> list[Bucket]:
    """Lists the non-empty buckets of a split.

    Args:
        dataset: a complete dataset.
        split: "train", "dev" or "test".
        tokens_per_batch: padded tokens of a global batch on each side, in the mean of both.
        parts: equal parts in which a batch is computed, replicas × accumulation.

    Raises:
        UserError: if the split has no pairs, a batch has less than one row for each part, or
            TensorFlow cannot read the dataset's file system.
    """
    _require_readable(dataset.directory)
    shards: dict[tuple[int, int], list[Shard]] = {}
    for shard in dataset.splits[split].shards:
        shards.setdefault(shard.shape, []).append(shard)
    if not shards:
        prefix = "" if split == "train" else f"{split}_"
        raise UserError(
            f"the {split} split of {dataset.directory} has no pairs: preprocess again with "
            f"--{prefix}source_files and --{prefix}target_files, into another --output_dir"
        )
    source, target = max(shards, key=sum)
    least = math.ceil((source + target) * parts / 2)
    if tokens_per_batch < least:
        raise UserError(
            f"--tokens_per_batch={tokens_per_batch} does not hold one row of {source} source and "
            f"{target} target tokens for each of its {parts} part(s), devices × "
            f"--gradient_accumulation; set at least {least}"
        )
    return [
        Bucket(
            shape=shape,
            rows=sum(shard.rows for shard in members),
            batch_size=2 * tokens_per_batch // sum(shape) // parts * parts,
            shards=tuple(dataset.path(shard.path) for shard in members),
        )
        for shape, members in sorted(shards.items())
    ]


def mix_buckets(
    datasets: Sequence[Dataset], training: TrainingConfig, *, parts: int
) -> list[Bucket]:
    """Lists the buckets to train on: of one dataset, or of all datasets of a mixture.

    Args:
        datasets: as `mixture.load_datasets` returns them.
        training: batch size, and how datasets are mixed.
        parts: equal parts in which a batch is computed, replicas × accumulation.

    Raises:
        UserError: as `make_buckets`.
    """
    tokens = training.tokens_per_batch
    buckets = [
        make_buckets(dataset, "train", tokens_per_batch=tokens, parts=parts) for dataset in datasets
    ]
    passes = passes_per_epoch(datasets, training)
    return [
        dataclasses.replace(bucket, dataset=number, passes=passes[number])
        for number, members in enumerate(buckets)
        for bucket in members
    ]


def steps_per_epoch(buckets: list[Bucket]) -> float:
    """Returns the number of global batches in an epoch, averaged over epochs."""
    return sum(float(bucket.passes) * bucket.rows / bucket.batch_size for bucket in buckets)


def find_epoch(buckets: list[Bucket], step: int) -> tuple[int, int]:
    """Returns the epoch that contains batch `step`, and the batch's place in that epoch."""
    epoch = int(step / steps_per_epoch(buckets))
    while _batches_before(buckets, epoch + 1) <= step:
        epoch += 1
    while _batches_before(buckets, epoch) > step:
        epoch -= 1
    return epoch, step - _batches_before(buckets, epoch)


def _batches_before(buckets: list[Bucket], epoch: int) -> int:
    return sum(bucket.batches_before(epoch) for bucket in buckets)


def _require_readable(directory: str) -> None:
    scheme, mark, _ = directory.partition("://")
    if mark and scheme not in tf.io.gfile.get_registered_schemes():
        raise UserError(
            f"{directory}: this TensorFlow does not read {scheme}://; copy the dataset to a local "
            "folder and set that as --dataset_dir"
        )
