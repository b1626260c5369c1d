"""When checkpoints are saved."""

import errno
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.scripted_model import (
    PLAIN,
    AfterUpdate,
    FakeClock,
    ScriptedModel,
    checkpointing,
    fit,
    steps,
)
from trainer.config import TrainingConfig
from trainer.runs.checkpoint_files import list_checkpoints
from trainer.training import checkpointing as checkpointing_module
from trainer.training.checkpointing import Checkpointing


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(checkpointing_module, "time", clock)
    return clock


def test_checkpoints_are_saved_every_so_many_steps_and_at_the_end(tmp_path: Path) -> None:
    saving = checkpointing(tmp_path, checkpoint_every_steps=2, train_steps=5)
    fit(ScriptedModel([PLAIN] * 5), 5, saving)
    assert [(saved.step, saved.interim) for saved in list_checkpoints(tmp_path)] == [
        (2, False),
        (4, False),
        (5, False),
    ]


def test_a_checkpoint_is_not_saved_twice_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    monkeypatch.setattr(
        checkpointing_module, "save_checkpoint", lambda *_, step, **__: saved.append(step)
    )
    saving = checkpointing(tmp_path, checkpoint_every_steps=2, train_steps=4)
    fit(ScriptedModel([PLAIN] * 4), 4, saving)
    assert saved == [2, 4]


def test_checkpoints_are_saved_every_so_many_minutes(tmp_path: Path, clock: FakeClock) -> None:
    """Minutes count from the checkpoint before, and updates take 40 seconds here."""
    saving = checkpointing(tmp_path, checkpoint_every_minutes=1.5, train_steps=8)
    fit(ScriptedModel([PLAIN] * 8), 8, AfterUpdate(lambda _: clock.pass_seconds(40.0)), saving)
    assert steps(tmp_path) == [3, 6, 8]


def test_checkpoints_by_time_between_those_by_steps_are_interim(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Updates take 40 seconds. What is averaged does not depend on that; the last is regular."""
    saved: list[tuple[int, bool]] = []
    monkeypatch.setattr(
        checkpointing_module,
        "save_checkpoint",
        lambda *_, step, interim, **__: saved.append((step, interim)),
    )
    saving = checkpointing(
        tmp_path, checkpoint_every_steps=5, checkpoint_every_minutes=1, train_steps=12
    )
    fit(ScriptedModel([PLAIN] * 12), 12, AfterUpdate(lambda _: clock.pass_seconds(40.0)), saving)
    interim, regular = (
        [step for step, kind in saved if kind == is_interim] for is_interim in (True, False)
    )
    assert (interim, regular) == ([2, 4, 7, 9], [5, 10, 12])


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        (
            {"train_steps": 1000},
            "average is of steps 1000; expected 5 .* steps 800 to 1000: .*_steps=50 or less",
        ),
        (
            {"train_steps": 1000, "checkpoint_every_steps": 400, "average_checkpoints": 3},
            "average is of steps 400, 800, 1000; expected 3 .*--average_checkpoints=2, which",
        ),
        ({"train_steps": 1000, "checkpoint_every_steps": 50}, None),
        ({"train_steps": 1000, "average": "none"}, None),
        ({"train_steps": 1000, "checkpoint_every_steps": 0}, None),
        ({}, None),
    ],
)
def test_training_starts_with_a_warning_if_its_average_will_be_weak(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
    warning: str | None,
) -> None:
    saving = Checkpointing(tmp_path, TrainingConfig(**settings), seconds_before=0.0)
    saving.set_model(ScriptedModel([PLAIN]))
    with caplog.at_level("WARNING", logger="absl"):
        saving.on_train_begin()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (warning is not None)
    assert warning is None or re.search(warning, messages[0])


def test_training_time_goes_on_from_earlier_sessions(tmp_path: Path, clock: FakeClock) -> None:
    config = TrainingConfig(checkpoint_every_minutes=0, train_steps=2)
    saving = Checkpointing(tmp_path, config, seconds_before=100.0)
    fit(ScriptedModel([PLAIN] * 2), 2, AfterUpdate(lambda _: clock.pass_seconds(4.0)), saving)
    (checkpoint,) = list_checkpoints(tmp_path)
    assert checkpoint.train_seconds == pytest.approx(108.0)


def test_updates_go_on_while_a_checkpoint_is_written_and_the_next_save_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fourth_update = threading.Event()

    def write_slowly(*_: Any, step: int, **__: Any) -> None:
        assert step != 3 or fourth_update.wait(60)
        time.sleep(0.2 if step == 7 else 0.0)
        events.append(f"written {step}")

    def after_update(number: int) -> None:
        events.append(f"update {number}")
        if number == 4:
            fourth_update.set()

    monkeypatch.setattr(checkpointing_module, "save_checkpoint", write_slowly)
    saving = checkpointing(tmp_path, checkpoint_every_steps=3, train_steps=7)
    fit(ScriptedModel([PLAIN] * 7), 7, AfterUpdate(after_update), saving)
    assert events.index("update 4") < events.index("written 3") < events.index("written 6")
    assert events[-1] == "written 7"  # training ends when everything is on disk


def test_a_write_that_fails_ends_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = threading.Event()

    def full_disk(*_: Any, **__: Any) -> None:
        failing.set()
        raise OSError(errno.ENOSPC, "No space left on device")

    def after_update(number: int) -> None:
        done.append(number)
        assert number <= every or failing.wait(60)

    monkeypatch.setattr(checkpointing_module, "save_checkpoint", full_disk)
    for every, before in ((20, 40), (60, 61)):  # before the next save; at the end
        done: list[int] = []
        saving = checkpointing(tmp_path, checkpoint_every_steps=every, train_steps=60)
        with pytest.raises(OSError, match="No space left"), saving:
            fit(ScriptedModel([PLAIN] * 60), 60, AfterUpdate(after_update), saving)
        assert every <= done[-1] < before


def test_after_an_error_of_training_the_checkpoint_in_progress_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = threading.Event()
    written: list[int] = []

    def write_slowly(*_: Any, step: int, **__: Any) -> None:
        assert failed.wait(60)
        written.append(step)

    def fail(number: int) -> None:
        if number == 2:
            threading.Timer(0.1, failed.set).start()
            raise ValueError("another error")

    monkeypatch.setattr(checkpointing_module, "save_checkpoint", write_slowly)
    saving = checkpointing(tmp_path, checkpoint_every_steps=1, train_steps=5)
    with pytest.raises(ValueError, match="another error"), saving:
        fit(ScriptedModel([PLAIN] * 5), 5, AfterUpdate(fail), saving)
    assert written == [1]
