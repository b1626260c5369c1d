"""When checkpoints are saved."""

from pathlib import Path

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
from trainer.runs.checkpoints import list_checkpoints
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


def test_training_time_goes_on_from_earlier_sessions(tmp_path: Path, clock: FakeClock) -> None:
    config = TrainingConfig(checkpoint_every_minutes=0, train_steps=2)
    saving = Checkpointing(tmp_path, config, seconds_before=100.0)
    fit(ScriptedModel([PLAIN] * 2), 2, AfterUpdate(lambda _: clock.pass_seconds(4.0)), saving)
    (checkpoint,) = list_checkpoints(tmp_path)
    assert checkpoint.train_seconds == pytest.approx(108.0)
