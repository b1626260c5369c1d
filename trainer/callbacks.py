"""What happens between updates: figures, checkpoints, evaluation, and stopping in good order.

Callbacks count steps by the optimizer's own count of updates, which a checkpoint restores.
"""

import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import keras
from absl import logging
from keras import ops

from pipeline.errors import UserError
from trainer.checkpoints import save_checkpoint
from trainer.config import TrainingConfig
from trainer.telemetry import MetricsWriter, Progress

Logs = dict[str, Any] | None


class StepCallback(keras.callbacks.Callback):
    """A callback that knows `self.step`, the updates made in this and earlier sessions."""

    def on_train_begin(self, logs: Logs = None) -> None:
        self.step = int(ops.convert_to_numpy(self.model.optimizer.iterations))

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self.step += 1
        self.after_update(logs or {})

    def after_update(self, logs: dict[str, float]) -> None:
        """Does the callback's work after update number `self.step`."""


class Telemetry(StepCallback):
    """Reports loss, perplexity, learning rate and tokens/s, averaged over `every_steps` updates.

    Raises:
        UserError: when the loss is not a finite number; no checkpoint is saved from then on.
    """

    def __init__(self, writer: MetricsWriter, *, train_steps: int, every_steps: int) -> None:
        """Writes to `writer` and to the terminal."""
        super().__init__()
        self._writer = writer
        self._train_steps = train_steps
        self._every_steps = every_steps

    def on_train_begin(self, logs: Logs = None) -> None:
        super().on_train_begin(logs)
        self._progress = Progress(total=self._train_steps, done=self.step, unit="step")
        self._restart()

    def on_train_end(self, logs: Logs = None) -> None:
        self._progress.close()

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        self._update_began = time.monotonic()

    def after_update(self, logs: dict[str, float]) -> None:
        """Adds up the update's figures, and reports them when it is time."""
        if not math.isfinite(logs["loss"]):
            raise UserError(
                f"the loss became {logs['loss']} at step {self.step}, learning rate "
                f"{self._learning_rate():.3g}; the last checkpoint is intact: lower "
                "--learning_rate_scale or raise --warmup_steps, with another --run_dir"
            )
        self._loss += logs["loss"] * logs["target_tokens"]
        self._nll += logs["nll"] * logs["target_tokens"]
        self._target_tokens += logs["target_tokens"]
        self._source_tokens += logs["source_tokens"]
        self._seconds += time.monotonic() - self._update_began
        self._progress.advance()
        if self.step % self._every_steps == 0 or self.step == self._train_steps:
            self._report()
            self._restart()

    def _restart(self) -> None:
        self._loss = self._nll = self._source_tokens = self._target_tokens = 0.0
        self._seconds = 0.0  # in updates, not in evaluation or saving

    def _report(self) -> None:
        nll = self._nll / self._target_tokens
        values = {
            "train/loss": self._loss / self._target_tokens,
            "train/nll": nll,
            "train/perplexity": math.exp(min(nll, 700.0)),
            "train/learning_rate": self._learning_rate(),
            "train/tokens_per_second": (self._source_tokens + self._target_tokens) / self._seconds,
        }
        self._writer.write(self.step, values)
        self._progress.report(
            f"loss {values['train/loss']:.3f}  ppl {values['train/perplexity']:.2f}  "
            f"{values['train/tokens_per_second']:,.0f} tokens/s"
        )

    def _learning_rate(self) -> float:
        return float(ops.convert_to_numpy(self.model.optimizer.learning_rate))


class Checkpointing(StepCallback):
    """Saves checkpoints by steps, by minutes, and at the end (§6.1)."""

    def __init__(self, run_dir: Path, config: TrainingConfig, *, seconds_before: float) -> None:
        """Counts training time on from `seconds_before`, that of earlier sessions."""
        super().__init__()
        self._run_dir = run_dir
        self._config = config
        self._seconds_before = seconds_before

    @property
    def train_seconds(self) -> float:
        """Time spent in training by this session and those before it."""
        return self._seconds_before + time.monotonic() - self._start

    def on_train_begin(self, logs: Logs = None) -> None:
        super().on_train_begin(logs)
        self._start = self._saved_at = time.monotonic()
        self._saved_step = self.step

    def on_train_end(self, logs: Logs = None) -> None:
        if self.step != self._saved_step:
            self._save(interim=self.step < self._config.train_steps)

    def after_update(self, logs: dict[str, float]) -> None:
        """Saves when enough steps or minutes have passed."""
        steps, minutes = self._config.checkpoint_every_steps, self._config.checkpoint_every_minutes
        elapsed = time.monotonic() - self._saved_at
        if (steps and self.step % steps == 0) or (minutes and elapsed >= 60 * minutes):
            self._save()

    def _save(self, *, interim: bool = False) -> None:
        save_checkpoint(
            self._run_dir,
            self.model,
            step=self.step,
            train_seconds=self.train_seconds,
            keep=self._config.keep_checkpoints,
            interim=interim,
        )
        self._saved_at, self._saved_step = time.monotonic(), self.step


class DevEvaluation(StepCallback):
    """Evaluates on dev every `every_steps` updates; 0 for never."""

    def __init__(
        self, evaluate: Callable[[], dict[str, float]], writer: MetricsWriter, *, every_steps: int
    ) -> None:
        """Writes what `evaluate` returns, by name, to `writer`."""
        super().__init__()
        self._evaluate = evaluate
        self._writer = writer
        self._every_steps = every_steps

    def after_update(self, logs: dict[str, float]) -> None:
        """Evaluates when it is time."""
        if self._every_steps and self.step % self._every_steps == 0:
            values = self._evaluate()
            self._writer.write(self.step, {f"dev/{name}": value for name, value in values.items()})
            figures = "  ".join(f"{name} {value:.3f}" for name, value in values.items())
            logging.info("dev at step %d: %s", self.step, figures)


class StopOnSignal(keras.callbacks.Callback):
    """On SIGTERM or SIGINT ends training after the update at hand, so that it is checkpointed."""

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
