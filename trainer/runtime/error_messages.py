"""TensorFlow errors that a user can act on, as one-line errors that say what to do.

TensorFlow names neither our flags nor, when a checksum does not match, the file. Other errors pass
through unchanged.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator

import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.common.storage import open_file
from pipeline.dataset.schema import Dataset, load_dataset, read_records
from trainer.config import TrainingConfig

# Operating-system errors that TensorFlow reports as exhausted resources, as it does lack of memory.
_NOT_MEMORY = ("No space left on device", "Disk quota exceeded", "Too many open files")
_LOST_FILE = (
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    tf.errors.FailedPreconditionError,  # a stale handle of a network file system
)


@contextlib.contextmanager
def explain_full_disk(directory: str, remedy: str) -> Iterator[None]:
    """Explains a failed write, of Python or TensorFlow, to a directory whose disk is full.

    Args:
        directory: where files are written; named unless the error names its file.
        remedy: what to do.

    Raises:
        UserError: in place of the error.
    """
    try:
        yield
    except (OSError, tf.errors.ResourceExhaustedError) as error:
        reason = next((text for text in _NOT_MEMORY if text in str(error)), None)
        if reason is None:
            raise
        path = getattr(error, "filename", None) or directory
        raise UserError(f"cannot write to {path}: {reason}; {remedy}") from error


@contextlib.contextmanager
def explain_training_errors(training: TrainingConfig) -> Iterator[None]:
    """Explains lack of memory or disk space, and the loss of a worker or a connection.

    Raises:
        UserError: in place of TensorFlow's own error.
    """
    try:
        with explain_full_disk(
            training.run_dir,
            "free some, then run the same command again to continue from the last checkpoint",
        ):
            yield
    except tf.errors.ResourceExhaustedError as error:
        raise UserError(
            f"out of memory with --tokens_per_batch={training.tokens_per_batch} in "
            f"--gradient_accumulation={training.gradient_accumulation} parts: double "
            "--gradient_accumulation (the same updates, in less memory) or lower --tokens_per_batch"
        ) from error
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        reason = str(error).split("\n")[0]
        lost = "another worker" if "TF_CONFIG" in os.environ else f"a connection ({reason})"
        raise UserError(
            f"lost {lost}; run the same command again, on all workers, to continue from the last "
            "checkpoint"
        ) from error


@contextlib.contextmanager
def explain_dataset_errors(*datasets: Dataset) -> Iterator[None]:
    """Explains a shard that is damaged or gone.

    TensorFlow verifies the checksum of every record that it reads. Only after a mismatch are the
    shards read again, to find out which one is damaged.

    Raises:
        UserError: naming the file. If all files are there and intact by then, TensorFlow's own
            error is raised.
    """
    try:
        yield
    except _LOST_FILE as error:
        try:
            for dataset in datasets:
                for path in _shard_paths(load_dataset(dataset.directory)):
                    with open_file(path):
                        pass
        except (UserError, OSError) as lost:
            raise UserError(
                f"lost the dataset while reading it: {lost}; once it is available again, run the "
                "same command again"
            ) from error
        raise
    except tf.errors.DataLossError:
        for path in itertools.chain.from_iterable(map(_shard_paths, datasets)):
            for _ in read_records(path):
                pass  # raises UserError at the damaged record
        raise


def _shard_paths(dataset: Dataset) -> list[str]:
    splits = dataset.splits.values()
    return [dataset.path(shard.path) for split in splits for shard in split.shards]
