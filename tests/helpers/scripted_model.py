"""A stand-in for the training model with scripted figures, for tests of callbacks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import tensorflow as tf

from trainer.config import TrainingConfig
from trainer.data.buckets import BatchShape
from trainer.runs.checkpoint_files import list_checkpoints
from trainer.runs.metrics_writer import MetricsWriter
from trainer.training.call_plan import Call
from trainer.training.callbacks import MetricsLogging
from trainer.training.checkpointing import Checkpointing
from trainer.training.update_loop import UpdateLoop

PLAIN = (2.0, 1.0, 10.0, 10.0, 1.0)  # loss, nll, source tokens, target tokens, scale of the loss
RATE = 0.25
Row = tuple[float, ...]


class ScriptedModel(UpdateLoop):
    """Reports for update n the figures of row n, and changes only the count of updates."""

    loss_scale = None
    xla = False

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__(figures_kept=8, name="scripted_model")
        self.transformer = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
        self.rows = tf.constant(rows, tf.float32)
        optimizer = keras.optimizers.SGD(RATE)
        optimizer.build(self.transformer.trainable_variables)
        self.compile(optimizer=optimizer, jit_compile=False)

    def train_step(self, data: object) -> dict[str, tf.Tensor]:
        update = tf.convert_to_tensor(self.optimizer.iterations)
        loss, nll, source, target, scale = tf.unstack(tf.gather(self.rows, update), num=5)
        finite = tf.cast(tf.math.is_finite(loss + nll), tf.float32)
        figures = tf.stack([loss, nll, source, target, 10 * nll, finite, scale, RATE])
        self.figures.write(update, figures)
        self.optimizer.iterations.assign_add(1)
        return {}


def shape_of(step: int) -> BatchShape:
    """Every batch has the same shape."""
    del step
    return 3, 7, 9


class AfterUpdate(keras.callbacks.Callback):
    """Calls a function with the number of each call in this session, by default one update each."""

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


def fit(
    training_model: ScriptedModel,
    updates: int,
    *used: keras.callbacks.Callback,
    calls: Sequence[Call] = (),
) -> None:
    """Trains, by default with one update per call, each of them read at once."""
    calls = calls or [Call(1, at_event=True)] * updates
    training_model.calls = iter(calls)
    data = tf.data.Dataset.from_tensors({"source": tf.zeros((1,))}).repeat()
    training_model.fit(
        data, steps_per_epoch=len(calls), callbacks=list(used), verbose=0, shuffle=False
    )


def metrics_logging(
    writer: MetricsWriter, *, train_steps: int, every_steps: int, peak_flops: float = 1.0
) -> MetricsLogging:
    """Reports as in training, with as many operations as there are positions in a batch."""
    return MetricsLogging(
        writer,
        TrainingConfig(train_steps=train_steps, log_every_steps=every_steps),
        shape_of,
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
