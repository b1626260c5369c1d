"""The candidates of --average, and which of them a run ends with."""

import dataclasses
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.transformer import Transformer
from trainer.runs.checkpoint_files import find_checkpoint
from trainer.runs.checkpoints import save_best, save_checkpoint, take_snapshot
from trainer.runs.run_directory import Run
from trainer.training import finalize
from trainer.training.averaging import make_candidates
from trainer.training.completion import format_result
from trainer.training.finalize import finish
from trainer.training.train_step import TrainingModel

STEPS = (10, 20, 30, 40)
BEST = {15: 21.0, 25: 23.0, 35: 22.0}  # BLEU by step


def fill(transformer: Transformer, value: float) -> None:
    for variable in transformer.trainable_variables:
        variable.assign(np.full(variable.shape, value, np.float32))


@pytest.fixture
def make(
    make_run: Callable[..., Run], reuse_training_model: Callable[..., TrainingModel]
) -> Callable[..., tuple[Run, TrainingModel]]:
    """Makes a run whose weights at each step are the number of the step, and its training model."""

    def make(*, interim: bool = False, **settings: Any) -> tuple[Run, TrainingModel]:
        settings = {"average_checkpoints": 2, "eval_every_steps": 5, **settings}
        run = make_run(**settings)
        training_model = reuse_training_model(ema_decay=run.training.ema_decay)
        for step in STEPS:
            fill(training_model.transformer, step)
            save_checkpoint(
                run.directory,
                take_snapshot(training_model),
                step=step,
                train_seconds=2.0 * step,
                keep=5,
                interim=interim and step == STEPS[-1],
            )
        for step, bleu in BEST.items():
            fill(training_model.transformer, step)
            save_best(run.directory, training_model.transformer, step=step, bleu=bleu, keep=3)
        return run, training_model

    return make


def values_of(run: Run, training_model: TrainingModel) -> dict[str, tuple[float, tuple[int, ...]]]:
    """By candidate: the value of all its weights, and the steps it comes from."""
    values = {}
    for name, weights, sources in make_candidates(run, training_model):
        (value,) = {float(value) for array in weights.values() for value in array.flat}
        values[name] = (value, sources)
    return values


@pytest.mark.parametrize(
    ("average", "value", "sources"),
    [("last", 35.0, (30, 40)), ("best", 30.0, (25, 35)), ("none", 40.0, (40,))],
)
def test_each_average_is_the_mean_of_its_checkpoints(
    make: Callable[..., tuple[Run, TrainingModel]],
    average: str,
    value: float,
    sources: tuple[int, ...],
) -> None:
    assert values_of(*make(average=average)) == {average: (value, sources)}


def test_auto_has_all_that_there_can_be(make: Callable[..., tuple[Run, TrainingModel]]) -> None:
    run, training_model = make(average="auto", ema_decay=0.5)
    for average in training_model.optimizer.averages:
        average.assign(np.full(average.shape, 7.0, np.float32))
    assert values_of(run, training_model) == {
        "best": (30.0, (25, 35)),
        "last": (35.0, (30, 40)),
        "ema": (7.0, ()),
        "none": (40.0, (40,)),
    }
    assert values_of(*make(average="auto")).keys() == {"best", "last", "none"}


def test_an_interim_checkpoint_is_not_averaged(
    make: Callable[..., tuple[Run, TrainingModel]],
) -> None:
    run, training_model = make(average="last", interim=True)
    assert values_of(run, training_model) == {"last": (25.0, (20, 30))}


def test_an_interim_checkpoint_may_be_the_last(
    make: Callable[..., tuple[Run, TrainingModel]],
) -> None:
    run, training_model = make(average="none", interim=True)
    assert values_of(run, training_model) == {"none": (40.0, (40,))}


def test_an_interim_checkpoint_is_averaged_where_there_is_no_other(
    make_run: Callable[..., Run], reuse_training_model: Callable[..., TrainingModel]
) -> None:
    """As of a run that was stopped early, and then told to have no more steps than it had."""
    run, training_model = make_run(), reuse_training_model()
    fill(training_model.transformer, 3.0)
    save_checkpoint(
        run.directory,
        take_snapshot(training_model),
        step=5,
        train_seconds=0.0,
        keep=5,
        interim=True,
    )
    assert values_of(run, training_model) == {"last": (3.0, (5,))}


def test_best_without_an_evaluation_is_last(
    make_run: Callable[..., Run], reuse_training_model: Callable[..., TrainingModel]
) -> None:
    settings = {"average": "best", "eval_every_steps": 100}
    run, training_model = make_run(**settings), reuse_training_model()
    fill(training_model.transformer, 3.0)
    save_checkpoint(
        run.directory, take_snapshot(training_model), step=50, train_seconds=0.0, keep=5
    )
    assert values_of(run, training_model) == {"last": (3.0, (50,))}


def finish_with(
    run: Run,
    training_model: TrainingModel,
    monkeypatch: pytest.MonkeyPatch,
    *,
    bleu: dict[float, float],
    perplexity: dict[float, float] | None = None,
) -> None:
    """Ends a run whose candidates score so, by the value of their weights."""

    def evaluate(*_: object) -> dict[str, float]:
        value = float(training_model.transformer.trainable_variables[0].numpy().flat[0])
        return {"perplexity": (perplexity or {}).get(value, 5.0), "bleu": bleu[value]}

    monkeypatch.setattr(finalize, "evaluate_dev", evaluate)
    finish(run, training_model, None, None)  # type: ignore[arg-type]  # the stand-in needs neither


def test_of_equal_bleu_the_lowest_perplexity_is_kept(
    make: Callable[..., tuple[Run, TrainingModel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, training_model = make(average="auto")
    perplexity = {30.0: 600.0, 35.0: 400.0, 40.0: 500.0}
    finish_with(
        run, training_model, monkeypatch, bleu=dict.fromkeys(perplexity, 0.0), perplexity=perplexity
    )
    result = json.loads((run.directory / "train.json").read_text("utf-8"))
    assert (result["average"], result["dev_perplexity"]) == ("last", 400.0)


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ({}, "the average is of steps 30, 40; expected 2 .* steps 32 to 40: .*=8 or less.*=1, "),
        ({"average_checkpoints": 5}, "steps 10, 20, 30, 40; expected 5 .*=2 or less, .*=1, "),
        ({"average_checkpoints": 1}, None),
        ({"average": "none"}, None),
        ({"average": "best"}, None),
    ],
)
def test_an_average_of_few_or_old_checkpoints_is_warned_of(
    make: Callable[..., tuple[Run, TrainingModel]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
    warning: str | None,
) -> None:
    run, training_model = make(**settings)
    with caplog.at_level("WARNING", logger="absl"):
        finish_with(run, training_model, monkeypatch, bleu=defaultdict(float))
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == (warning is not None)
    assert warning is None or re.search(warning, messages[0])


def test_a_finished_run_names_the_next_command_quoted_for_a_shell(
    make: Callable[..., tuple[Run, TrainingModel]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="absl")
    run, training_model = make(average="none")
    run = dataclasses.replace(run, directory=run.directory.rename(tmp_path / "my run"))
    finish_with(run, training_model, monkeypatch, bleu={40.0: 27.0})
    command = f"python -m trainer.evaluate --run_dir='{tmp_path}/my run'"
    assert f"Next: {command}" in caplog.messages


def test_the_candidate_of_the_best_bleu_is_kept_and_all_are_told(
    make: Callable[..., tuple[Run, TrainingModel]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, training_model = make(average="auto")
    finish_with(run, training_model, monkeypatch, bleu={30.0: 26.0, 35.0: 28.0, 40.0: 27.0})
    kept = find_checkpoint(run.directory, "averaged")
    assert (kept.step, kept.sources, kept.train_seconds) == (40, (30, 40), 80.0)
    with np.load(kept.path / "weights.npz") as file:
        assert {float(value) for name in file for value in file[name].flat} == {35.0}
    result = json.loads((run.directory / "train.json").read_text("utf-8"))
    assert result["average"] == "last"
    assert result["dev_bleu"] == 28.0
    assert format_result(run.directory).splitlines() == [
        "dev: BLEU 28.00, perplexity 5.000, 40 updates, 1m20s",
        "",
        f"weights {run.directory}/averaged, from --average=last; candidates:",
        "best    BLEU 26.00, perplexity 5.000",
        "last    BLEU 28.00, perplexity 5.000",
        "none    BLEU 27.00, perplexity 5.000",
    ]
    assert {name: scores["bleu"] for name, scores in result["candidates"].items()} == {
        "best": 26.0,
        "last": 28.0,
        "none": 27.0,
    }
