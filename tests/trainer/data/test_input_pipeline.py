import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset, Split, parse_example, read_records
from tests.helpers.datasets import SHAPES
from trainer.data.buckets import Bucket, make_buckets, steps_per_epoch
from trainer.data.input_pipeline import (
    batch_buckets,
    distribute,
    evaluation_batches,
    training_batches,
)

TOKENS = 400  # per side: 23, 16, 10 and 8 rows of 34, 50, 76 and 100 tokens of both sides
Arrays = dict[str, np.ndarray]
Pair = tuple[tuple[int, ...], tuple[int, ...]]


@pytest.fixture(scope="module")
def buckets(tiny_dataset: Dataset) -> list[Bucket]:
    return make_buckets(tiny_dataset, "train", tokens_per_batch=TOKENS, parts=1)


def take(batches: tf.data.Dataset, number: int) -> list[Arrays]:
    return list(batches.take(number).as_numpy_iterator())


def pairs_of(batches: Iterable[Arrays]) -> list[Pair]:
    return [
        (tuple(source[source != 0].tolist()), tuple(target[target != 0].tolist()))
        for batch in batches
        for source, target in zip(batch["source"], batch["target"], strict=True)
    ]


def stored(dataset: Dataset, split: str) -> list[Pair]:
    return [
        (tuple(source), tuple(target))
        for shard in dataset.splits[split].shards
        for source, target in map(parse_example, read_records(dataset.path(shard.path)))
    ]


def assert_same(left: list[Arrays], right: list[Arrays]) -> None:
    assert len(left) == len(right)
    for received, expected in zip(left, right, strict=True):
        np.testing.assert_array_equal(received["source"], expected["source"])
        np.testing.assert_array_equal(received["target"], expected["target"])


def test_batch_sizes_fill_the_tokens_and_are_multiples_of_the_replicas(
    tiny_dataset: Dataset,
) -> None:
    for replicas, sizes in ((1, [23, 16, 10, 8]), (4, [20, 16, 8, 8])):
        made = make_buckets(tiny_dataset, "train", tokens_per_batch=TOKENS, parts=replicas)
        assert [bucket.shape for bucket in made] == list(SHAPES)
        assert [bucket.batch_size for bucket in made] == sizes
        assert sum(bucket.rows for bucket in made) == tiny_dataset.splits["train"].pairs


@pytest.mark.parametrize(("split", "flag"), [("train", "--source_files"), ("dev", "--dev_source")])
def test_a_split_without_pairs_is_refused_with_the_flags_to_give(
    tiny_dataset: Dataset, split: str, flag: str
) -> None:
    empty = dataclasses.replace(tiny_dataset, splits={split: Split(split, 0, ())})
    with pytest.raises(UserError, match=f"the {split} split of .* has no pairs: .* with {flag}"):
        make_buckets(empty, split, tokens_per_batch=TOKENS, parts=1)


def test_a_batch_that_holds_no_pair_for_each_replica_is_refused(tiny_dataset: Dataset) -> None:
    make_buckets(tiny_dataset, "train", tokens_per_batch=200, parts=4)
    with pytest.raises(UserError, match="tokens_per_batch=199 .* 48 source and 52 .* at least 200"):
        make_buckets(tiny_dataset, "train", tokens_per_batch=199, parts=4)


@pytest.mark.parametrize("shape", [(32, 38), (38, 32), (40, 40), (7, 90)])
def test_both_sides_together_fill_the_tokens(tiny_dataset: Dataset, shape: tuple[int, int]) -> None:
    """By what a row leaves over at most: the paper's batch has about 25,000 tokens a side."""
    split = tiny_dataset.splits["train"]
    shards = tuple(dataclasses.replace(shard, shape=shape) for shard in split.shards)
    train = dataclasses.replace(split, shards=shards)
    dataset = dataclasses.replace(tiny_dataset, splits={"train": train})
    (bucket,) = make_buckets(dataset, "train", tokens_per_batch=25_000, parts=1)
    positions = bucket.batch_size * sum(shape)
    assert 50_000 - sum(shape) < positions <= 50_000


def test_a_batch_has_the_static_shape_of_its_bucket(buckets: list[Bucket]) -> None:
    shapes = {tuple((bucket.batch_size, length) for length in bucket.shape) for bucket in buckets}
    batches = take(training_batches(buckets, seed=1), 40)
    assert {(batch["source"].shape, batch["target"].shape) for batch in batches} == shapes
    assert {ids.dtype for batch in batches for ids in batch.values()} == {np.dtype(np.int32)}


@pytest.mark.parametrize("epochs", [1, 3, 5])
def test_each_epoch_holds_each_pair_once(
    tiny_dataset: Dataset, buckets: list[Bucket], epochs: int
) -> None:
    """Of each bucket, only what does not fill its last batch waits for the next epoch."""
    steps = sum(bucket.batches_before(epochs) for bucket in buckets)
    counts = Counter(pairs_of(take(training_batches(buckets, seed=3), steps)))
    missing = sum(epochs * bucket.rows % bucket.batch_size for bucket in buckets)
    everything = stored(tiny_dataset, "train")
    assert len(set(everything)) == len(everything)
    assert set(counts) <= set(everything)
    assert set(counts.values()) <= {epochs - 1, epochs}
    assert sum(epochs - counts[pair] for pair in everything) == missing


def test_pairs_left_over_in_an_epoch_open_the_next(
    tiny_dataset: Dataset, buckets: list[Bucket]
) -> None:
    """Nothing is dropped: when a multiple of the batch has been seen, all have been as often."""
    bucket = buckets[-1]
    assert bucket.rows % bucket.batch_size  # else the test would show nothing
    batches = take(training_batches([bucket], seed=3), bucket.rows)  # batch_size epochs
    counts = Counter(pairs_of(batches))
    assert len(counts) == bucket.rows
    assert set(counts.values()) == {bucket.batch_size}


def test_steps_per_epoch_is_the_average_over_epochs(buckets: list[Bucket]) -> None:
    period = 23 * 16 * 10 * 8
    batches = sum(bucket.batches_before(period) for bucket in buckets)
    assert steps_per_epoch(buckets) == pytest.approx(batches / period)


def test_the_order_follows_the_seed(buckets: list[Bucket]) -> None:
    first = take(training_batches(buckets, seed=1), 12)
    assert_same(first, take(training_batches(buckets, seed=1), 12))
    assert pairs_of(first) != pairs_of(take(training_batches(buckets, seed=2), 12))


@pytest.mark.parametrize("shards", [1, 3])
def test_every_epoch_reshuffles_the_pairs(buckets: list[Bucket], shards: int) -> None:
    """Within a shard as well, else a small corpus would always come in the same order."""
    bucket = dataclasses.replace(
        buckets[1], batch_size=6, shards=buckets[1].shards[:shards], rows=42 * shards
    )
    number = bucket.rows // bucket.batch_size
    batches = take(training_batches([bucket], seed=1), 2 * number)
    first, second = pairs_of(batches[:number]), pairs_of(batches[number:])
    assert sorted(first) == sorted(second)
    assert first != second


def test_every_epoch_reads_the_shards_in_an_order_of_its_own(buckets: list[Bucket]) -> None:
    """Required where a bucket has more rows than its shuffle buffer."""
    bucket = dataclasses.replace(buckets[1], batch_size=6)
    number, rest = divmod(bucket.rows, bucket.batch_size)
    batches = training_batches([bucket], seed=1, shuffle_rows=1, parallel_shards=1)
    pairs = pairs_of(take(batches, 3 * number))
    size = len(pairs) // 3
    epochs = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    assert not rest and sorted(epochs[0]) == sorted(epochs[1]) == sorted(epochs[2])
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_every_epoch_reshuffles_the_buckets(buckets: list[Bucket]) -> None:
    halves = [dataclasses.replace(bucket, batch_size=3) for bucket in (buckets[0], buckets[1])]
    assert not any(bucket.rows % 3 for bucket in halves)  # both epochs have the same batches
    number = sum(bucket.rows // 3 for bucket in halves)
    batches = take(training_batches(halves, seed=1), 2 * number)
    lengths = [batch["source"].shape[1] for batch in batches]
    first, second = lengths[:number], lengths[number:]
    assert sorted(first) == sorted(second)
    assert first != second
    assert sorted(first) not in (first, second)


@pytest.mark.parametrize("step", [0, 1, 13, 21, 22, 23, 45, 46, 68, 70, 94, 97])
def test_a_resumed_stream_goes_on_as_if_never_interrupted(
    buckets: list[Bucket], uninterrupted: list[Arrays], step: int
) -> None:
    resumed = training_batches(buckets, seed=5, first_step=step)
    assert_same(take(resumed, 12), uninterrupted[step : step + 12])


@pytest.fixture(scope="module")
def uninterrupted(buckets: list[Bucket]) -> list[Arrays]:
    """More than four epochs, with known ends, so that runs resume just before and after them."""
    ends = [sum(bucket.batches_before(epoch) for bucket in buckets) for epoch in (1, 2, 3, 4)]
    assert ends == [22, 46, 69, 94]
    return take(training_batches(buckets, seed=5), 113)


def test_the_shape_of_every_batch_is_known_without_reading_it(
    buckets: list[Bucket], uninterrupted: list[Arrays]
) -> None:
    bucket_of = batch_buckets(buckets, seed=5)
    for step, batch in enumerate(uninterrupted, start=1):
        assert bucket_of(step).batch_shape == (*batch["source"].shape, batch["target"].shape[1])


def test_evaluation_sees_every_pair_once_in_order(tiny_dataset: Dataset) -> None:
    dev = make_buckets(tiny_dataset, "dev", tokens_per_batch=60, parts=1)
    batches = list(evaluation_batches(dev).as_numpy_iterator())
    assert pairs_of(batches) == stored(tiny_dataset, "dev")
    assert any(len(batch["source"]) < 60 // batch["source"].shape[1] for batch in batches)


def test_replicas_get_consecutive_slices_of_the_global_batch(
    tiny_dataset: Dataset, eight_cpus: list[str]
) -> None:
    made = make_buckets(tiny_dataset, "train", tokens_per_batch=TOKENS, parts=4)
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:4], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    dealt = distribute(training_batches(made, seed=1), strategy)
    expected = take(training_batches(made, seed=1), 6)
    for batch, whole in zip(itertools.islice(iter(dealt), 6), expected, strict=True):  # type: ignore[call-overload]
        for side in ("source", "target"):
            slices = strategy.experimental_local_results(batch[side])
            assert [len(piece) for piece in slices] == [len(whole[side]) // 4] * 4
            np.testing.assert_array_equal(np.concatenate(slices), whole[side])


def test_replicas_fetch_batches_without_optionals(
    tiny_dataset: Dataset, eight_cpus: list[str]
) -> None:
    """TensorFlow would wrap and inspect each, in case the last ones are fewer than replicas."""
    made = make_buckets(tiny_dataset, "train", tokens_per_batch=TOKENS, parts=2)
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    iterator = iter(distribute(training_batches(made, seed=1), strategy))  # type: ignore[call-overload]
    fetch = tf.function(lambda batches: next(batches), autograph=False)
    operations = {
        node.type for node in fetch.get_concrete_function(iterator).graph.get_operations()
    }
    assert {kind for kind in operations if "GetNext" in kind}
    assert not {kind for kind in operations if "Optional" in kind or kind in ("If", "StatelessIf")}


def test_a_worker_gets_the_slices_of_its_own_replicas(tiny_dataset: Dataset) -> None:
    made = make_buckets(tiny_dataset, "train", tokens_per_batch=TOKENS, parts=4)
    second = tf.distribute.InputContext(2, input_pipeline_id=1, num_replicas_in_sync=4)

    class SecondOfTwo:
        def distribute_datasets_from_function(self, make: Any) -> tf.data.Dataset:
            return make(second)

    dealt: Any = distribute(training_batches(made, seed=1), SecondOfTwo())
    pieces = list(dealt.take(6).as_numpy_iterator())
    for number, whole in enumerate(take(training_batches(made, seed=1), 3)):
        for side in ("source", "target"):
            received = np.concatenate(
                [piece[side] for piece in pieces[2 * number : 2 * number + 2]]
            )
            np.testing.assert_array_equal(received, whole[side][len(whole[side]) // 2 :])
