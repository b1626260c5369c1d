"""TensorFlow's errors that a user can do something about, in words that say what."""

import contextlib
import os
from collections.abc import Iterator

import tensorflow as tf

from pipeline.errors import UserError
from trainer.config import TrainingConfig


@contextlib.contextmanager
def failures_explained(training: TrainingConfig) -> Iterator[None]:
    """Turns lack of memory, and the loss of a worker or a store, into errors that say what helps.

    Raises:
        UserError: in place of TensorFlow's own error.
    """
    try:
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
            f"lost {lost}; start the same command again, on all workers, to go on from the last "
            "checkpoint"
        ) from error
