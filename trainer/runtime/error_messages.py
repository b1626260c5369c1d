"""TensorFlow's errors that a user can do something about, in words that say what."""

import contextlib
import os
from collections.abc import Iterator

import tensorflow as tf

from pipeline.common.errors import UserError
from trainer.config import TrainingConfig

# What TensorFlow takes for exhausted resources, too, in the words of the operating system.
_NOT_MEMORY = ("No space left on device", "Disk quota exceeded", "Too many open files")


@contextlib.contextmanager
def failures_explained(training: TrainingConfig) -> Iterator[None]:
    """Turns lack of memory, and the loss of a worker or a store, into errors that say what helps.

    Raises:
        UserError: in place of TensorFlow's own error.
    """
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        reason = next((each for each in _NOT_MEMORY if each in str(error)), None)
        if reason:
            raise UserError(
                f"cannot write to {training.run_dir}: {reason}; once that is mended, start the "
                "same command again to go on from the last checkpoint"
            ) from error
        raise UserError(
            f"out of memory with --tokens_per_batch={training.tokens_per_batch} in "
            f"--gradient_accumulation={training.gradient_accumulation} parts: double "
            "--gradient_accumulation (the same updates, in less memory) or lower --tokens_per_batch"
        ) from error
    except (tf.errors.UnavailableError, tf.errors.AbortedError) as error:
        reason = str(error).split("\n")[0]
        lost = "another worker" if "TF_CONFIG" in os.environ else f"a connection ({reason})"
        raise UserError(
            f"lost {lost}; start the same command again, on all workers, to go on from the last "
            "checkpoint"
        ) from error
