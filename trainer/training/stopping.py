"""Reasons to stop: a signal, an update that is not finite, another worker; and a stalled input."""

import math
import signal
import threading
import time
from types import FrameType
from typing import Any

import keras
import tensorflow as tf
from absl import logging
from keras import ops

from pipeline.common.errors import UserError
from trainer.config import TrainingConfig
from trainer.runtime.strategy import any_worker
from trainer.training.callbacks import Logs, StepCallback


class StopOnSignal(keras.callbacks.Callback):
    """On SIGTERM or SIGINT ends training after the update at hand, so that it is checkpointed.

    A second SIGINT does not wait for that.
    """

    def __init__(self) -> None:
        """Waits for signals only during training."""
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


class StopTogether(keras.callbacks.Callback):
    """Stops all workers after the same update, when a callback of any of them wants to.

    Must come last. With one worker it changes nothing.
    """

    def __init__(self, strategy: tf.distribute.Strategy) -> None:
        """Asks the workers of `strategy`."""
        super().__init__()
        self._strategy = strategy

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self.model.stop_training = any_worker(self._strategy, self.model.stop_training)


class StopOnNonFinite(StepCallback):
    """Stops when an update was not finite, or warns a few times, as `nan_policy` says.

    The training model has skipped that update. Gradients that overflow while the loss is scaled are
    expected and do not count: the scale falls, down to 1.

    Raises:
        UserError: naming step, bucket and learning rate; no checkpoint is saved from then on.
    """

    def __init__(self, config: TrainingConfig) -> None:
        """Follows `config.nan_policy`."""
        super().__init__()
        self._most = config.max_skipped_steps if config.nan_policy == "skip" else 0
        self._skipped = 0

    def after_update(self, logs: dict[str, float]) -> None:
        """Looks at the update just made."""
        if logs["finite"]:
            self._skipped = 0
        elif not (logs["loss_scale"] > 1.0 and math.isfinite(logs["loss"])):
            self._skipped += 1
            self._judge(logs["loss"])

    def _judge(self, loss: float) -> None:
        what = "the gradients overflowed" if math.isfinite(loss) else f"the loss became {loss}"
        rows, source, target = self.model.batch_shape
        rate = float(ops.convert_to_numpy(self.model.optimizer.learning_rate))
        where = (
            f"{what} at step {self.step}, in {rows} rows of the bucket {source} × {target} tokens, "
            f"learning rate {rate:.3g}"
        )
        if self._skipped > self._most:
            raise UserError(
                f"{where}; no later checkpoint was saved: lower --learning_rate_scale or raise "
                "--warmup_steps, with another --run_dir"
            )
        logging.warning("%s; skipped, %d of %d in a row", where, self._skipped, self._most)


class InputWatchdog(keras.callbacks.Callback):
    """Warns when an update has long been waiting for its batch."""

    def __init__(self, seconds: float = 60.0) -> None:
        """Warns once for each wait of more than `seconds`."""
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
                "no batch for %.0f s: the input is stalled; can --dataset_dir still be read?",
                time.monotonic() - since,
            )
            warned = since
