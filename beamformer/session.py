"""What a call may change in the process of a notebook, and how it is restored afterwards."""

import contextlib
import logging
import signal
import sys
import threading
from collections.abc import Iterator

from pipeline.common.cli import PlainFormatter
from pipeline.common.errors import UserError
from trainer.config import TrainingConfig
from trainer.runtime.startup import start_tensorflow


def start(*, for_search: bool = False, for_training: TrainingConfig | None = None) -> None:
    """Starts TensorFlow as the commands do; without effect where a notebook already uses it.

    Raises:
        UserError: Keras already runs on another backend, or training would leave a GPU unused.
    """
    keras = sys.modules.get("keras")
    if keras and keras.backend.backend() != "tensorflow":
        raise UserError(
            f"received Keras on {keras.backend.backend()}: expected TensorFlow; set "
            "KERAS_BACKEND=tensorflow before Keras is imported"
        )
    start_tensorflow(for_search=for_search, for_training=for_training)


@contextlib.contextmanager
def as_guest() -> Iterator[None]:
    """Shows progress on standard error, and hands signals back."""
    with _showing_progress(), _restoring_signals():
        yield


@contextlib.contextmanager
def restoring_precision() -> Iterator[None]:
    """Restores Keras's policy of types, which training sets for the whole process."""
    import keras

    policy = keras.config.dtype_policy()
    try:
        yield
    finally:
        keras.config.set_dtype_policy(policy)


@contextlib.contextmanager
def _showing_progress() -> Iterator[None]:
    logger, handler = logging.getLogger("absl"), logging.StreamHandler()
    handler.setFormatter(PlainFormatter())
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


@contextlib.contextmanager
def _restoring_signals() -> Iterator[None]:
    """Restores handlers also after an error, when Keras does not end its callbacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
