"""A stand-in for the training model with scripted figures, for tests of callbacks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import tensorflow as tf

from trainer.config import TrainingConfig
from trainer.runs.checkpoints import list_checkpoints
from trainer.runs.metrics_writer import MetricsWriter
from trainer.training.callbacks import MetricsLogging
from trainer.training.checkpointing import Checkpointing

COLUMNS = ("loss", "nll", "source_tokens", "target_tokens", "loss_scale")
PLAIN = (2.0, 1.0, 10.0, 10.0, 1.0)
Row = tuple[float, ...]


class ScriptedModel(keras.Model):
    """Reports for update n the figures of row n, and changes nothing but the count of updates."""

    programs = 1
    loss_scale = None
    batch_shape = (3, 7, 9)
    waiting_since: float | None = None

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__()
        self.transformer = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
        self.rows = tf.constant(rows, tf.float32)
        self.built = True
        optimizer = keras.optimizers.SGD(0.25)
        optimizer.build(self.transformer.trainable_variables)
        self.compile(optimizer=optimizer, jit_compile=False)

    def train_step(self, data: tf.Tensor) -> dict[str, tf.Tensor]:
        row = tf.gather(self.rows, self.optimizer.iterations.value)
        variables = self.transformer.trainable_variables
        self.optimizer.apply([tf.zeros(variable.shape) for variable in variables], variables)
        logs = dict(zip(COLUMNS, tf.unstack(row, num=len(COLUMNS)), strict=True))
        return {
            **logs,
            "gradient_norm": 10 * logs["nll"],
            "finite": tf.cast(tf.math.is_finite(logs["loss"] + logs["nll"]), tf.float32),
        }


class AfterUpdate(keras.callbacks.Callback):
    """Calls a function with the number of each update of this session."""

    def __init__(self, function: Callable[[int], object]) -> None:
        super().__init__()
        self._function = function

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._function(batch + 1)


class FakeClock(SimpleNamespace):
    """Stands in for the `time` module: its seconds pass only when it is told so."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds


def fit(training_model: ScriptedModel, updates: int, *used: keras.callbacks.Callback) -> None:
    data = tf.data.Dataset.from_tensors(tf.zeros((1,))).repeat()
    training_model.fit(
        data, steps_per_epoch=updates, callbacks=list(used), verbose=0, shuffle=False
    )


def metrics_logging(
    writer: MetricsWriter, *, train_steps: int, every_steps: int, peak_flops: float = 1.0
) -> MetricsLogging:
    """Reports as in training, with as many operations as there are positions in a batch."""
    return MetricsLogging(
        writer,
        train_steps=train_steps,
        every_steps=every_steps,
        count_flops=lambda shape: shape[0] * (shape[1] + shape[2]),
        peak_flops=peak_flops,
    )


def checkpointing(run_dir: Path, **settings: Any) -> Checkpointing:
    values = {
        "checkpoint_every_steps": 0,
        "checkpoint_every_minutes": 0.0,
        "train_steps": 100,
        **settings,
    }
    return Checkpointing(run_dir, TrainingConfig(**values), seconds_before=0.0)


def steps(run_dir: Path) -> list[int]:
    return [checkpoint.step for checkpoint in list_checkpoints(run_dir)]
