import itertools
import json
import math
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import pytest
import tensorflow as tf

from pipeline.errors import UserError
from trainer import callbacks
from trainer.callbacks import Checkpointing, DevEvaluation, StopOnSignal, Telemetry
from trainer.checkpoints import list_checkpoints
from trainer.config import TrainingConfig
from trainer.telemetry import MetricsWriter

COLUMNS = ("loss", "nll", "source_tokens", "target_tokens")
PLAIN = (2.0, 1.0, 10.0, 10.0)
Row = tuple[float, float, float, float]


class ScriptedLearner(keras.Model):
    """Reports for update n the figures of row n, and changes nothing but the count of updates."""

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
        return dict(zip(COLUMNS, tf.unstack(row, num=4), strict=True))


class AfterUpdate(keras.callbacks.Callback):
    """Calls a function with the number of each update of this session."""

    def __init__(self, function: Callable[[int], object]) -> None:
        super().__init__()
        self._function = function

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._function(batch + 1)


def fit(learner: ScriptedLearner, updates: int, *used: keras.callbacks.Callback) -> None:
    data = tf.data.Dataset.from_tensors(tf.zeros((1,))).repeat()
    learner.fit(data, steps_per_epoch=updates, callbacks=list(used), verbose=0, shuffle=False)


def rows_of(run_dir: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


def checkpointing(run_dir: Path, **settings: Any) -> Checkpointing:
    values = {"checkpoint_every_minutes": 0.0, "train_steps": 100, **settings}
    return Checkpointing(run_dir, TrainingConfig(**values), seconds_before=0.0)


def steps(run_dir: Path) -> list[int]:
    return [checkpoint.step for checkpoint in list_checkpoints(run_dir)]


class FakeClock(SimpleNamespace):
    """Stands in for the `time` module: its seconds pass only when it is told so."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(callbacks, "time", clock)
    return clock


def test_figures_are_averaged_over_the_tokens_of_an_interval(
    tmp_path: Path, clock: FakeClock
) -> None:
    learner = ScriptedLearner([(8.0, 4.0, 10.0, 1.0), (4.0, 2.0, 20.0, 3.0), (1.0, 0.5, 7.0, 5.0)])
    telemetry = Telemetry(MetricsWriter(tmp_path, 0), train_steps=3, every_steps=2)
    fit(learner, 3, AfterUpdate(lambda _: clock.pass_seconds(2.0)), telemetry)
    first, last = rows_of(tmp_path)
    assert first["step"] == 2
    assert first["train/loss"] == pytest.approx((8 * 1 + 4 * 3) / 4)
    assert first["train/nll"] == pytest.approx((4 * 1 + 2 * 3) / 4)
    assert first["train/perplexity"] == pytest.approx(math.exp(2.5))
    assert first["train/tokens_per_second"] == pytest.approx((10 + 20 + 1 + 3) / 4.0)
    assert first["train/learning_rate"] == 0.25
    assert last["step"] == 3  # the interval is not full, but training is over
    assert last["train/loss"] == 1.0
    assert last["train/tokens_per_second"] == pytest.approx((7 + 5) / 2.0)


def test_intervals_are_counted_over_all_sessions(tmp_path: Path) -> None:
    learner = ScriptedLearner([PLAIN] * 6)
    writer = MetricsWriter(tmp_path, 0)
    for updates in (3, 3):
        fit(learner, updates, Telemetry(writer, train_steps=99, every_steps=2))
    assert [row["step"] for row in rows_of(tmp_path)] == [2, 4, 6]


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_and_the_last_checkpoint_stays(
    tmp_path: Path, loss: float
) -> None:
    learner = ScriptedLearner([PLAIN, PLAIN, (loss, 1.0, 10.0, 10.0), PLAIN])
    telemetry = Telemetry(MetricsWriter(tmp_path, 0), train_steps=4, every_steps=1)
    saving = checkpointing(tmp_path, checkpoint_every_steps=1)
    with pytest.raises(UserError, match=r"loss became (nan|inf) at step 3, learning rate 0.25"):
        fit(learner, 4, telemetry, saving)
    assert steps(tmp_path) == [1, 2]


def test_checkpoints_are_saved_every_so_many_steps_and_at_the_end(tmp_path: Path) -> None:
    saving = checkpointing(tmp_path, checkpoint_every_steps=2, train_steps=5)
    fit(ScriptedLearner([PLAIN] * 5), 5, saving)
    assert [(one.step, one.interim) for one in list_checkpoints(tmp_path)] == [
        (2, False),
        (4, False),
        (5, False),
    ]


def test_a_checkpoint_is_not_saved_twice_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    monkeypatch.setattr(callbacks, "save_checkpoint", lambda *_, step, **__: saved.append(step))
    saving = checkpointing(tmp_path, checkpoint_every_steps=2, train_steps=4)
    fit(ScriptedLearner([PLAIN] * 4), 4, saving)
    assert saved == [2, 4]


def test_checkpoints_are_saved_every_so_many_minutes(tmp_path: Path, clock: FakeClock) -> None:
    """Minutes count from the checkpoint before, and updates take 40 seconds here."""
    saving = checkpointing(tmp_path, checkpoint_every_minutes=1.5, train_steps=8)
    fit(ScriptedLearner([PLAIN] * 8), 8, AfterUpdate(lambda _: clock.pass_seconds(40.0)), saving)
    assert steps(tmp_path) == [3, 6, 8]


def test_training_time_goes_on_from_earlier_sessions(tmp_path: Path, clock: FakeClock) -> None:
    config = TrainingConfig(checkpoint_every_minutes=0, train_steps=2)
    saving = Checkpointing(tmp_path, config, seconds_before=100.0)
    fit(ScriptedLearner([PLAIN] * 2), 2, AfterUpdate(lambda _: clock.pass_seconds(4.0)), saving)
    (checkpoint,) = list_checkpoints(tmp_path)
    assert checkpoint.train_seconds == pytest.approx(108.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_training_after_the_update_and_saves_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    def interrupt(update: int) -> None:
        if update == 2:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    stop, done = StopOnSignal(), itertools.count()
    saving = checkpointing(tmp_path, train_steps=9)
    learner = ScriptedLearner([PLAIN] * 9)
    fit(learner, 9, AfterUpdate(interrupt), saving, stop, AfterUpdate(lambda _: next(done)))
    assert stop.received == number
    assert next(done) == 2
    assert [(one.step, one.interim) for one in list_checkpoints(tmp_path)] == [(2, True)]
    assert signal.getsignal(number) == before


def test_without_a_signal_nothing_is_received(tmp_path: Path) -> None:
    stop = StopOnSignal()
    fit(ScriptedLearner([PLAIN]), 1, stop)
    assert stop.received is None


@pytest.mark.parametrize(("every", "expected"), [(2, [2, 4]), (0, [])])
def test_dev_is_evaluated_every_so_many_steps(
    tmp_path: Path, every: int, expected: list[int]
) -> None:
    values = {"nll": 1.5, "bleu": 30.0}
    evaluation = DevEvaluation(lambda: values, MetricsWriter(tmp_path, 0), every_steps=every)
    fit(ScriptedLearner([PLAIN] * 5), 5, evaluation)
    rows = rows_of(tmp_path)
    assert [row["step"] for row in rows] == expected
    assert all((row["dev/nll"], row["dev/bleu"]) == (1.5, 30.0) for row in rows)
