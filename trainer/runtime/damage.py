"""Damaged or lost shards: TensorFlow notices them in its own words, so we look for the file."""

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.common.storage import open_file
from pipeline.dataset.schema import Dataset, Shard, load_dataset, read_records

_LOST = (
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    tf.errors.FailedPreconditionError,  # a stale handle of a network file system
)


@contextlib.contextmanager
def damage_explained(dataset: Dataset) -> Iterator[None]:
    """Turns a checksum that did not match, or a shard that is gone, into an error that names it.

    TensorFlow verifies the checksums of every record it reads, at no cost to us; only after a
    mismatch are the shards read again to find out which it was.

    Raises:
        UserError: naming the file; if now all are there and intact, TensorFlow's own error goes on.
    """
    try:
        yield
    except _LOST as error:
        try:
            for shard in _shards(load_dataset(dataset.directory)):
                with open_file(dataset.path(shard.path)):
                    pass
        except (UserError, OSError) as lost:
            raise UserError(
                f"lost the dataset while it was read: {lost}; once it is back, start the same "
                "command again"
            ) from error
        raise
    except tf.errors.DataLossError:
        for shard in _shards(dataset):
            for _ in read_records(dataset.path(shard.path)):
                pass
        raise


def _shards(dataset: Dataset) -> list[Shard]:
    return [shard for split in dataset.splits.values() for shard in split.shards]
