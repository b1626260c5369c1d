import itertools
import math
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from tests.helpers.scripted_model import (
    PLAIN,
    AfterUpdate,
    Row,
    ScriptedModel,
    checkpointing,
    fit,
    metrics_logging,
    shape_of,
    steps,
)
from trainer.config import TrainingConfig
from trainer.runs.checkpoint_files import list_checkpoints
from trainer.runs.metrics_writer import MetricsWriter
from trainer.training import stopping
from trainer.training.call_plan import Call
from trainer.training.stopping import (
    InputWatchdog,
    StopOnNonFinite,
    StopOnSignal,
    StopTogether,
    agree_on_signal,
)

NAN = (math.nan, 1.0, 10.0, 10.0, 1.0)
OVERFLOW = (2.0, math.inf, 10.0, 10.0, 1.0)  # how the scripted model overflows
OVERFLOW_WHEN_SCALED = (2.0, math.inf, 10.0, 10.0, 2.0)


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
    training_model = ScriptedModel([PLAIN] * 9)
    together = StopTogether(tf.distribute.get_strategy())
    count = AfterUpdate(lambda _: next(done))
    fit(training_model, 9, AfterUpdate(interrupt), saving, stop, together, count)
    assert stop.received == number
    assert next(done) == 2
    assert [(saved.step, saved.interim) for saved in list_checkpoints(tmp_path)] == [(2, True)]
    assert signal.getsignal(number) == before


def test_a_second_interrupt_does_not_wait_for_the_update() -> None:
    def interrupt(_: int) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    stop = StopOnSignal()
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(ScriptedModel([PLAIN] * 9), 9, AfterUpdate(interrupt), stop)
    finally:
        stop.on_train_end()  # which Keras leaves out after an exception
        signal.signal(signal.SIGINT, before)


def test_without_a_signal_nothing_is_received() -> None:
    stop = StopOnSignal()
    fit(ScriptedModel([PLAIN]), 1, stop)
    assert stop.received is None


def test_a_worker_stops_when_another_wants_to(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def answer(_: object, here: bool) -> bool:
        asked.append(here)
        return here or len(asked) == 3

    monkeypatch.setattr(stopping, "any_worker", answer)
    done: list[int] = []
    together = StopTogether(tf.distribute.get_strategy())
    fit(ScriptedModel([PLAIN] * 5), 5, together, AfterUpdate(done.append))
    assert done == [1, 2, 3]
    assert asked == [False] * 3


@pytest.mark.parametrize(
    ("here", "elsewhere", "agreed"),
    [
        (None, None, None),
        (signal.SIGTERM, None, signal.SIGTERM),
        (None, signal.SIGTERM, signal.SIGTERM),
        (None, signal.SIGINT, signal.SIGINT),
        (signal.SIGTERM, signal.SIGINT, signal.SIGINT),
        (signal.SIGINT, signal.SIGTERM, signal.SIGINT),
    ],
)
def test_all_workers_agree_on_the_signal_that_stopped_them(
    monkeypatch: pytest.MonkeyPatch,
    here: signal.Signals | None,
    elsewhere: signal.Signals | None,
    agreed: signal.Signals | None,
) -> None:
    others = iter([elsewhere == signal.SIGINT, elsewhere == signal.SIGTERM])
    monkeypatch.setattr(stopping, "any_worker", lambda _, received: received or next(others))
    assert agree_on_signal(tf.distribute.get_strategy(), here) == agreed


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (NAN, "the loss became nan"),
        ((math.inf, *NAN[1:]), "the loss became inf"),
        (OVERFLOW, "the gradients overflowed"),
    ],
)
def test_an_update_that_is_not_finite_stops_and_the_last_checkpoint_stays(
    tmp_path: Path, row: Row, what: str
) -> None:
    training_model = ScriptedModel([PLAIN, PLAIN, row, PLAIN])
    reporting = metrics_logging(MetricsWriter(tmp_path, 0), train_steps=4, every_steps=1)
    saving = checkpointing(tmp_path, checkpoint_every_steps=1)
    expected = f"{what} at step 3, in 3 rows of the bucket 7 × 9 tokens, learning rate 0.25;"
    with pytest.raises(UserError, match=expected), saving:
        fit(training_model, 4, StopOnNonFinite(TrainingConfig(), shape_of), reporting, saving)
    assert steps(tmp_path) == [1, 2]


@pytest.mark.parametrize(
    ("rows", "stops_at"),
    [
        ([NAN, NAN, PLAIN, NAN, OVERFLOW, PLAIN], None),
        ([PLAIN, NAN, OVERFLOW, NAN, PLAIN], 4),
        ([OVERFLOW_WHEN_SCALED] * 5, None),
        ([(math.nan, *OVERFLOW_WHEN_SCALED[1:])] * 5, 3),
    ],
)
def test_so_many_updates_in_a_row_may_be_skipped(
    caplog: pytest.LogCaptureFixture, rows: list[Row], stops_at: int | None
) -> None:
    config = TrainingConfig(nan_policy="skip", max_skipped_steps=2)
    policy = StopOnNonFinite(config, shape_of)
    training_model = ScriptedModel(rows)
    if stops_at is None:
        fit(training_model, len(rows), policy)
    else:
        with pytest.raises(UserError, match=f"at step {stops_at},"):
            fit(training_model, len(rows), policy)
        assert "2 of 2 in a row" in caplog.text


def test_a_bad_update_that_nothing_has_read_yet_is_not_saved(tmp_path: Path) -> None:
    """Neither when minutes have passed, nor when a signal ends training."""
    for settings in ({"checkpoint_every_minutes": 1e-9}, {}):
        mistake = pytest.raises(UserError, match="the loss became nan at step 2, in 3 rows")
        with mistake, checkpointing(tmp_path, **settings) as saving:
            fit(
                ScriptedModel([PLAIN, NAN, PLAIN]),
                3,
                StopOnNonFinite(TrainingConfig(), shape_of),
                saving,
                calls=[Call(1, at_event=False)] * 3,
            )
        assert steps(tmp_path) == [1]  # from the first of the two


def test_overflow_of_a_scaled_loss_is_expected() -> None:
    training_model = ScriptedModel([OVERFLOW_WHEN_SCALED, PLAIN])
    fit(training_model, 2, StopOnNonFinite(TrainingConfig(), shape_of))


def test_the_watchdog_warns_once_of_a_stalled_input(caplog: pytest.LogCaptureFixture) -> None:
    class Waiting(ScriptedModel):
        waiting_since: float | None = None

    before = {*threading.enumerate()}
    training_model = Waiting([PLAIN] * 2)
    waits = [None, time.monotonic() - 0.5]

    def wait(update: int) -> None:
        training_model.waiting_since = waits[update - 1]
        end = time.monotonic() + 10
        while update == 2 and "no batch for" not in caplog.text and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1)
        assert caplog.text.count("no batch for") == update - 1

    fit(training_model, 2, InputWatchdog(seconds=0.02), AfterUpdate(wait))
    assert "the input is stalled" in caplog.text
    for thread in {*threading.enumerate()} - before:
        thread.join(timeout=60)
        assert not thread.is_alive()
