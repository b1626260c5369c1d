"""Batches from a dataset directory: every bucket a static shape, order a function of (seed, step).

Each bucket is an endless stream of its rows, pass after pass, cut into full batches; a schedule
says from which bucket the next batch comes. Epoch e holds, of a bucket with R rows, P passes an
epoch (1 without mixing) and batches of B, the batches numbered ⌊e·P·R/B⌋ to ⌊(e+1)·P·R/B⌋ - 1, in
shuffled order. So no row is dropped, no batch is short, and the position of any step can be
computed: a run resumed at step n sees the same batches as an uninterrupted run.

A mixture's buckets are those of all its datasets, so a batch comes from one of them.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from trainer.data.buckets import Bucket, find_epoch

Batch = dict[str, tf.Tensor]  # "source" and "target", int32 [rows, tokens of a row]


def training_batches(
    buckets: list[Bucket],
    *,
    seed: int,
    first_step: int = 0,
    shuffle_rows: int = 16_384,
    parallel_shards: int = 16,
) -> tf.data.Dataset:
    """Streams global batches without end.

    Args:
        buckets: the buckets to draw from.
        seed: of the order.
        first_step: number of the first batch, counted from 0.
        shuffle_rows: size of a bucket's shuffle buffer, rows. The shards' rows are in random order
            already.
        parallel_shards: shards of a bucket that are read in turn.
    """
    epoch, batches_into_epoch = find_epoch(buckets, first_step)
    schedule = tf.data.Dataset.range(epoch, np.iinfo(np.int64).max).flat_map(
        lambda e: tf.data.Dataset.from_tensor_slices(_epoch_schedule(buckets, seed, e))
    )
    done = _epoch_schedule(buckets, seed, epoch)[:batches_into_epoch].numpy()
    streams = [
        _bucket_stream(
            bucket,
            seed=seed + 1 + i,
            first_batch=bucket.batches_before(epoch) + int((done == i).sum()),
            shuffle_rows=shuffle_rows,
            parallel_shards=parallel_shards,
        )
        for i, bucket in enumerate(buckets)
    ]
    batches = tf.data.Dataset.choose_from_datasets(streams, schedule.skip(batches_into_epoch))
    return batches.prefetch(4)


def batch_buckets(buckets: list[Bucket], *, seed: int) -> Callable[[int], Bucket]:
    """Returns the function from an update's number, counted from 1, to the bucket of its batch.

    Args:
        buckets: those of `training_batches`.
        seed: as well.
    """

    @functools.lru_cache(maxsize=2)
    def schedule_of(epoch: int) -> np.ndarray:
        return _epoch_schedule(buckets, seed, epoch).numpy()

    def bucket_of(step: int) -> Bucket:
        epoch, batches_into_epoch = find_epoch(buckets, step - 1)
        return buckets[schedule_of(epoch)[batches_into_epoch]]

    return bucket_of


def evaluation_batches(buckets: list[Bucket]) -> tf.data.Dataset:
    """Streams every row once, in order; a bucket's last batch may be smaller."""
    streams = [
        tf.data.TFRecordDataset(list(bucket.shards))
        .batch(bucket.batch_size)
        .map(_parser(bucket.shape))
        for bucket in buckets
    ]
    choices = np.repeat(
        np.arange(len(buckets)), [math.ceil(bucket.rows / bucket.batch_size) for bucket in buckets]
    )
    return tf.data.Dataset.choose_from_datasets(
        streams, tf.data.Dataset.from_tensor_slices(choices)
    ).prefetch(4)


def distribute(batches: tf.data.Dataset, strategy: tf.distribute.Strategy) -> object:
    """Divides global batches without end into equal slices, one for each replica."""

    def make(context: tf.distribute.InputContext) -> tf.data.Dataset:
        replicas = context.num_replicas_in_sync
        here = replicas // context.num_input_pipelines
        first = context.input_pipeline_id * here

        def deal(batch: Batch) -> tf.data.Dataset:
            slices = {
                name: tf.reshape(ids, (replicas, -1, tf.shape(ids)[1]))[first : first + here]
                for name, ids in batch.items()
            }
            return tf.data.Dataset.from_tensor_slices(slices)

        # With a known cardinality TensorFlow fetches batches as they are, without optionals, and
        # workers need not agree on whether there is another one.
        infinite = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        return batches.flat_map(deal).apply(infinite)

    return strategy.distribute_datasets_from_function(make)


def _epoch_schedule(buckets: list[Bucket], seed: int, epoch: int | tf.Tensor) -> tf.Tensor:
    """Returns the bucket of each batch of an epoch, int64 `[batches]`, in shuffled order."""
    epoch = tf.cast(epoch, tf.int64)
    rows = [bucket.passes.numerator * bucket.rows for bucket in buckets]
    sizes = [bucket.passes.denominator * bucket.batch_size for bucket in buckets]
    rows, sizes = (tf.constant(numbers, tf.int64) for numbers in (rows, sizes))
    batches = (epoch + 1) * rows // sizes - epoch * rows // sizes
    ordered = tf.repeat(tf.range(len(buckets), dtype=tf.int64), batches)
    return tf.random.experimental.stateless_shuffle(ordered, seed=tf.stack([seed, epoch]))


def _bucket_stream(
    bucket: Bucket, *, seed: int, first_batch: int, shuffle_rows: int, parallel_shards: int
) -> tf.data.Dataset:
    """Streams a bucket's batches without end, starting at number `first_batch`."""
    epoch, rows_done = divmod(first_batch * bucket.batch_size, bucket.rows)
    shards = tf.constant(bucket.shards)

    def read(epoch: tf.Tensor) -> tf.data.Dataset:
        order = tf.random.experimental.stateless_shuffle(shards, seed=tf.stack([seed, epoch]))
        rows = tf.data.Dataset.from_tensor_slices(order).interleave(
            tf.data.TFRecordDataset,
            cycle_length=min(parallel_shards, len(bucket.shards)),
        )
        rows = rows.shuffle(min(shuffle_rows, bucket.rows), seed=seed + epoch)
        return rows.skip(tf.where(epoch == first_epoch, skipped, tf.zeros_like(skipped)))

    first_epoch, skipped = tf.constant(epoch, tf.int64), tf.constant(rows_done, tf.int64)
    epochs = tf.data.Dataset.range(epoch, np.iinfo(np.int64).max)
    return (
        epochs.flat_map(read)
        .batch(bucket.batch_size, drop_remainder=True)
        .map(_parser(bucket.shape), num_parallel_calls=2, deterministic=True)
    )


def _parser(shape: tuple[int, int]) -> Callable[[tf.Tensor], Batch]:
    """Returns the function from serialized rows, string `[B]`, to int32 `[B, S]` and `[B, T]`."""
    lengths = dict(zip(("source", "target"), shape, strict=True))
    features = {name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64) for name in lengths}

    def parse(serialized: tf.Tensor) -> Batch:
        ragged = tf.io.parse_example(serialized, features)
        return {
            name: tf.cast(ragged[name].to_tensor(shape=(None, length)), tf.int32)
            for name, length in lengths.items()
        }

    return parse
