"""Reasons to stop training: signals, non-finite updates, other workers; and an input watchdog."""

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import keras
import tensorflow as tf
from absl import logging

from pipeline.common.errors import UserError
from trainer.config import TrainingConfig
from trainer.data.buckets import BatchShape
from trainer.runtime.strategy import any_worker
from trainer.training.callbacks import Logs
from trainer.training.update_figures import UpdateFigures


class StopOnSignal(keras.callbacks.Callback):
    """Stops training after the current call on SIGTERM or SIGINT, so that it is checkpointed.

    A second SIGINT interrupts at once.
    """

    def __init__(self) -> None:
        """Handles signals only during training."""
        super().__init__()
        self.received: signal.Signals | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def on_train_begin(self, logs: Logs = None) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._previous[number] = signal.signal(number, self._receive)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        if self.received:
            self.model.stop_training = True

    def on_train_end(self, logs: Logs = None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.received = signal.Signals(number)
        signal.signal(signal.SIGINT, self._previous[signal.SIGINT])
        logging.info(
            "%s: saving after this update and its evaluation; Ctrl-C stops at once",
            self.received.name,
        )


def agree_on_signal(
    strategy: tf.distribute.Strategy, received: signal.Signals | None
) -> signal.Signals | None:
    """Returns, on all workers, the signal that any received; every worker must call it."""
    signals = (signal.SIGINT, signal.SIGTERM)
    return next((number for number in signals if any_worker(strategy, received == number)), None)


class StopTogether(keras.callbacks.Callback):
    """Stops all workers after the same call, if a callback of any worker asks for it.

    Must be the last callback. Has no effect with one worker.
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        """Synchronizes the workers of `strategy`."""
        super().__init__()
        self._strategy = strategy

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self.model.stop_training = any_worker(self._strategy, self.model.stop_training)


class StopOnNonFinite(keras.callbacks.Callback):
    """Stops at a non-finite update, or warns and skips it, depending on `nan_policy`.

    The training model has skipped that update. Gradients that overflow while the loss is scaled are
    expected and do not count: the scale falls, down to 1.

    Must come before callbacks that log: they see an update after this one has accepted it. Figures
    are read before anything is logged, evaluated or saved, on all workers after the same updates.

    Raises:
        UserError: naming step, bucket and learning rate; no checkpoint is saved from then on.
    """

    def __init__(self, config: TrainingConfig, shape_of: Callable[[int], BatchShape]) -> None:
        """Follows `config.nan_policy`; `shape_of` returns the shape of an update's global batch."""
        super().__init__()
        self._shape_of = shape_of
        self._most = config.max_skipped_steps if config.nan_policy == "skip" else 0
        self._skipped = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        self.model.observers.append(self._check)

    def on_train_end(self, logs: Logs = None) -> None:
        self.model.read_figures()

    def _check(self, step: int, figures: UpdateFigures) -> None:
        if figures.finite:
            self._skipped = 0
        elif not (figures.loss_scale > 1.0 and math.isfinite(figures.loss)):
            self._skipped += 1
            self._stop_or_warn(step, figures)

    def _stop_or_warn(self, step: int, figures: UpdateFigures) -> None:
        overflowed = math.isfinite(figures.loss)
        what = "the gradients overflowed" if overflowed else f"the loss became {figures.loss}"
        rows, source, target = self._shape_of(step)
        where = (
            f"{what} at step {step}, in {rows} rows of the bucket {source} × {target} tokens, "
            f"learning rate {figures.learning_rate:.3g}"
        )
        if self._skipped > self._most:
            raise UserError(
                f"{where}; no later checkpoint was saved: lower --learning_rate_scale or raise "
                "--warmup_steps, with another --run_dir"
            )
        logging.warning("%s; skipped, %d of %d in a row", where, self._skipped, self._most)


class InputWatchdog(keras.callbacks.Callback):
    """Warns when an update waits too long for its batch."""

    def __init__(self, seconds: float = 60.0) -> None:
        """Warns once about each wait of more than `seconds`."""
        super().__init__()
        self._seconds = seconds
        self._ended = threading.Event()

    def on_train_begin(self, logs: Logs = None) -> None:
        threading.Thread(target=self._watch, name="input watchdog", daemon=True).start()

    def on_train_end(self, logs: Logs = None) -> None:
        self._ended.set()

    def _watch(self) -> None:
        warned = None
        while not self._ended.wait(self._seconds / 4):
            since = self.model.waiting_since
            if since is None or since == warned or time.monotonic() - since < self._seconds:
                continue
            logging.warning(
                "no batch for %.0f s: the input is stalled; is --dataset_dir still readable?",
                time.monotonic() - since,
            )
            warned = since
