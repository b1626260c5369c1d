"""Batches of a mixture: their shares of tokens, and that they are a function of seed and step."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pipeline.dataset.schema import Dataset, parse_example, read_records
from tests.helpers.datasets import split_in_two
from trainer.config import TrainingConfig
from trainer.data.buckets import Bucket, make_buckets, mix_buckets
from trainer.data.input_pipeline import batch_buckets, distribute, training_batches
from trainer.data.mixture import count_target_tokens

Arrays = dict[str, np.ndarray]
MIXED = TrainingConfig(
    dataset_dir="data/a,data/b", dataset_weights=("3", "1"), tokens_per_batch=200
)
STEPS = 270


@pytest.fixture(scope="module")
def datasets(tiny_dataset: Dataset) -> list[Dataset]:
    return split_in_two(tiny_dataset)


@pytest.fixture(scope="module")
def buckets(datasets: list[Dataset]) -> list[Bucket]:
    return mix_buckets(datasets, MIXED, parts=1)


@pytest.fixture(scope="module")
def uninterrupted(buckets: list[Bucket]) -> list[Arrays]:
    """More than two epochs of the mixture."""
    epochs = [sum(bucket.batches_before(epoch) for bucket in buckets) for epoch in (1, 2)]
    assert epochs == [126, 253]
    return list(training_batches(buckets, seed=5).take(STEPS).as_numpy_iterator())


def targets_of(dataset: Dataset) -> set[tuple[int, ...]]:
    return {
        tuple(parse_example(record)[1])
        for shard in dataset.splits["train"].shards
        for record in read_records(dataset.path(shard.path))
    }


def test_one_dataset_has_the_buckets_that_it_has_alone(tiny_dataset: Dataset) -> None:
    config = TrainingConfig(tokens_per_batch=400)
    alone = make_buckets(tiny_dataset, "train", tokens_per_batch=400, parts=2)
    assert mix_buckets([tiny_dataset], config, parts=2) == alone


def test_planned_tokens_follow_the_weights_exactly(
    datasets: list[Dataset], buckets: list[Bucket]
) -> None:
    """After so many epochs that every bucket's rows fill its batches, no rounding is left."""
    epochs = math.lcm(*(bucket.passes.denominator * bucket.batch_size for bucket in buckets))
    tokens = Counter[int]()
    for bucket in buckets:
        rows = bucket.batches_before(epochs) * bucket.batch_size
        passes, rest = divmod(rows, bucket.rows)
        assert rest == 0
        train = datasets[bucket.dataset].splits["train"]
        shards = [shard for shard in train.shards if shard.shape == bucket.shape]
        tokens[bucket.dataset] += passes * sum(shard.target_tokens for shard in shards)
    assert tokens[0] / tokens.total() == pytest.approx(3 / 4, abs=1e-6)
    assert tokens[1] == epochs * count_target_tokens(datasets[1])


def test_batches_come_from_the_planned_dataset_and_hold_its_share_of_tokens(
    datasets: list[Dataset], buckets: list[Bucket], uninterrupted: list[Arrays]
) -> None:
    bucket_of = batch_buckets(buckets, seed=5)
    texts = list(map(targets_of, datasets))
    assert not texts[0] & texts[1]
    tokens = Counter[int]()
    for step, batch in enumerate(uninterrupted[:253], start=1):
        bucket = bucket_of(step)
        assert (*batch["source"].shape, batch["target"].shape[1]) == bucket.batch_shape
        assert {tuple(row[row != 0]) for row in batch["target"]} <= texts[bucket.dataset]
        tokens[bucket.dataset] += int(np.count_nonzero(batch["target"]))
    # Two epochs, so each bucket lacks less than a batch of what is planned.
    assert tokens[0] / tokens.total() == pytest.approx(3 / 4, abs=0.01)


def test_an_up_sampled_dataset_is_reshuffled_at_every_pass(
    datasets: list[Dataset], buckets: list[Bucket], uninterrupted: list[Arrays]
) -> None:
    bucket_of = batch_buckets(buckets, seed=5)
    number = next(n for n, bucket in enumerate(buckets) if bucket.dataset == 0)
    rows = [
        tuple(row[row != 0])
        for step, batch in enumerate(uninterrupted, start=1)
        if bucket_of(step) == buckets[number]
        for row in batch["target"]
    ]
    size = buckets[number].rows
    first, second = rows[:size], rows[size : 2 * size]
    assert buckets[number].passes > 2 and len(second) == size
    assert sorted(first) == sorted(second) and len(set(first)) == size
    assert first != second


@pytest.mark.parametrize("step", [1, 57, 125, 126, 127, 254])
def test_a_resumed_mixture_goes_on_as_if_never_interrupted(
    buckets: list[Bucket], uninterrupted: list[Arrays], step: int
) -> None:
    resumed = training_batches(buckets, seed=5, first_step=step).take(12).as_numpy_iterator()
    for received, expected in zip(resumed, uninterrupted[step : step + 12], strict=True):
        np.testing.assert_array_equal(received["source"], expected["source"])
        np.testing.assert_array_equal(received["target"], expected["target"])


def test_replicas_together_get_the_mixed_batches(
    datasets: list[Dataset], eight_cpus: list[str]
) -> None:
    made = mix_buckets(datasets, MIXED, parts=2)
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    dealt: Any = distribute(training_batches(made, seed=1, first_step=7), strategy)
    expected = training_batches(made, seed=1, first_step=7).take(9).as_numpy_iterator()
    for batch, whole in zip(itertools.islice(iter(dealt), 9), expected, strict=True):
        for side in ("source", "target"):
            slices = strategy.experimental_local_results(batch[side])
            np.testing.assert_array_equal(np.concatenate(slices), whole[side])
