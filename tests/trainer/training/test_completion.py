"""When a run is finished, as its files tell."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.common.errors import UserError
from trainer.runs.metrics_log import append_row
from trainer.runs.run_directory import Run
from trainer.training.completion import count_since_best, finished_steps, is_finished

MakeRun = Callable[..., Run]
STEPS = 40


@pytest.fixture
def make_ended(make_run: MakeRun) -> MakeRun:
    """Makes a run with the result of 40 updates and the checkpoint of the last one."""

    def make(**settings: Any) -> Run:
        run = make_run(**settings)
        run.directory.mkdir()
        config = run.training
        asked_for = f"{config.average} of {config.average_checkpoints}"
        result = json.dumps({"steps": STEPS, "asked_for": asked_for})
        (run.directory / "train.json").write_text(result)
        save(run, STEPS)
        return run

    return make


def save(run: Run, step: int) -> None:
    folder = run.directory / "checkpoints" / f"step-{step:08d}"
    folder.mkdir(parents=True)
    values = {"step": step, "train_seconds": 1.0, "sources": []}
    (folder / "checkpoint.json").write_text(json.dumps(values))


def ask(run: Run, **changes: Any) -> Run:
    return dataclasses.replace(run, training=dataclasses.replace(run.training, **changes))


def test_a_run_without_a_result_is_not_finished(make_run: MakeRun) -> None:
    assert finished_steps(make_run()) is None


def test_a_run_of_which_more_or_another_average_is_asked_is_not_finished(
    make_ended: MakeRun,
) -> None:
    run = make_ended(train_steps=STEPS)
    assert finished_steps(run) == STEPS
    for change in ({"average": "none"}, {"average_checkpoints": 1}, {"train_steps": 41}):
        assert finished_steps(ask(run, **change)) is None
    assert finished_steps(ask(run, train_steps=39)) == STEPS


def test_a_run_that_stopped_early_is_finished_until_it_goes_on(make_ended: MakeRun) -> None:
    run = make_ended(train_steps=99, eval_every_steps=20, early_stopping_patience=1)
    assert finished_steps(run) is None
    for step, bleu in ((20, 5.0), (40, 4.0)):
        append_row(run.directory, step, {"dev/bleu": bleu})
    assert finished_steps(run) == STEPS
    save(run, 50)
    assert finished_steps(run) is None


@pytest.mark.parametrize(
    ("train_steps", "message"),
    [
        (40, "is finished: 40 steps"),
        (39, "is finished: 40 steps, more than --train_steps=39"),
        (41, None),
    ],
)
def test_a_finished_run_says_how_long_it_was_trained(
    make_ended: MakeRun, caplog: pytest.LogCaptureFixture, train_steps: int, message: str | None
) -> None:
    caplog.set_level("INFO", logger="absl")
    run = make_ended(train_steps=train_steps)
    assert is_finished(run) == (message is not None)
    assert caplog.messages == ([f"{run.directory} {message}"] if message else [])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"steps": "many"}', "\x00"])
def test_a_damaged_result_is_a_users_error(make_ended: MakeRun, text: str) -> None:
    run = make_ended()
    (run.directory / "train.json").write_text(text)
    with pytest.raises(UserError, match="train.json cannot be read .*: delete it, then run"):
        finished_steps(run)


@pytest.mark.parametrize(
    ("bleu", "count"), [([], 0), ([5.0], 0), ([5.0, 6.0], 0), ([6.0, 6.0, 2.0], 2), ([0.0, 0.0], 1)]
)
def test_evaluations_are_counted_since_the_first_best(bleu: list[float], count: int) -> None:
    assert count_since_best(bleu) == count
