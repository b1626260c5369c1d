"""When checkpoints are saved, and their writing while training goes on."""

import functools
import time
from pathlib import Path
from typing import Self

from trainer.config import TrainingConfig
from trainer.runs.background_writer import BackgroundWriter
from trainer.runs.checkpoints import save_checkpoint, take_snapshot
from trainer.training.averaging import planned_steps, warn_of_average
from trainer.training.callbacks import Logs, StepCallback


class Checkpointing(StepCallback):
    """Saves checkpoints every so many updates, and at the end (§6.1).

    If updates are slow, it also saves by time. With `checkpoint_every_steps` such a checkpoint is
    interim: which ones are averaged does not depend on the speed of the machine.

    At its step a checkpoint is copied from the devices; a thread writes the copy, at most one at a
    time. Training ends with the thread's exception, for example if the disk is full. As a context
    manager around training, it waits for the thread also if training fails: nothing is written
    once the context, and hence the lock of the run directory, is left.
    """

    def __init__(self, run_dir: Path, config: TrainingConfig, *, seconds_before: float) -> None:
        """Starts at a training time of `seconds_before`, spent in earlier sessions."""
        super().__init__()
        self._run_dir = run_dir
        self._config = config
        self._seconds_before = seconds_before
        self._writer = BackgroundWriter()

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for a checkpoint in progress."""
        self._writer.close()

    @property
    def train_seconds(self) -> float:
        """Training time of this and earlier sessions, seconds."""
        return self._seconds_before + time.monotonic() - self._start

    def on_train_begin(self, logs: Logs = None) -> None:
        self._start = self._saved_at = time.monotonic()
        self._saved_step = self.step
        if planned := planned_steps(self._config):
            warn_of_average(self._config, planned, last_step=self._config.train_steps)

    def on_train_end(self, logs: Logs = None) -> None:
        if self.step != self._saved_step:
            self._save(interim=self.step < self._config.train_steps)
        self._writer.wait()

    def after_call(self) -> None:
        """Saves a checkpoint when enough steps or minutes have passed."""
        self._writer.check()
        steps, minutes = self._config.checkpoint_every_steps, self._config.checkpoint_every_minutes
        elapsed = time.monotonic() - self._saved_at
        if steps and self.step % steps == 0:
            self._save()
        elif minutes and elapsed >= 60 * minutes:
            self._save(interim=steps > 0 and self.step < self._config.train_steps)

    def _save(self, *, interim: bool = False) -> None:
        self.model.read_figures()  # stops at an update that was not finite
        self._writer.wait()  # before the copy: memory never holds two
        self._writer.start(
            functools.partial(
                save_checkpoint,
                self._run_dir,
                take_snapshot(self.model),
                step=self.step,
                train_seconds=self.train_seconds,
                keep=self._config.keep_checkpoints,
                interim=interim,
            )
        )
        self._saved_at, self._saved_step = time.monotonic(), self.step
