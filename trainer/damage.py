"""Damaged shards: TensorFlow notices them and names no file, so we look for it."""

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from pipeline.schema import Dataset, read_records


@contextlib.contextmanager
def damage_explained(dataset: Dataset) -> Iterator[None]:
    """Turns a checksum that did not match inside the block into an error that names the shard.

    TensorFlow verifies the checksums of every record it reads, at no cost to us; only after a
    mismatch are the shards read again to find out which it was.

    Raises:
        UserError: naming the file; if now all are intact, TensorFlow's own error goes on.
    """
    try:
        yield
    except tf.errors.DataLossError:
        for split in dataset.splits.values():
            for shard in split.shards:
                for _ in read_records(dataset.path(shard.path)):
                    pass
        raise
