"""What evaluation during training writes, keeps and ends."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from model.config import SearchConfig
from pipeline.dataset.schema import Dataset
from tests.helpers.scripted_model import PLAIN, AfterUpdate, ScriptedModel, fit, steps
from trainer.config import TrainingConfig
from trainer.inference.translator import make_transformer, make_translator
from trainer.runs.checkpoint_files import list_best
from trainer.runs.metrics_writer import MetricsWriter
from trainer.runs.run_directory import Run
from trainer.training.dev_evaluation import DevEvaluation, show_samples


def rows_of(run_dir: Path) -> list[dict[str, float]]:
    path = run_dir / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def best_steps(run_dir: Path) -> list[int]:
    return [checkpoint.step for checkpoint in list_best(run_dir)]


def evaluation(
    run_dir: Path,
    bleu: Sequence[float],
    past_bleu: Sequence[float] = (),
    *,
    show: Callable[[int], None] = lambda _: None,
    **settings: Any,
) -> DevEvaluation:
    """Evaluates to the given BLEU scores, one after another."""
    scores = iter(bleu)
    return DevEvaluation(
        lambda: {"nll": 1.5, "bleu": next(scores)},
        show,
        MetricsWriter(run_dir, 0),
        run_dir,
        TrainingConfig(**settings),
        past_scores=past_bleu,
    )


@pytest.mark.parametrize(("every", "expected"), [(2, [2, 4]), (0, [])])
def test_dev_is_evaluated_every_so_many_steps(
    tmp_path: Path, every: int, expected: list[int]
) -> None:
    shown: list[int] = []
    used = evaluation(tmp_path, [30.0, 31.0], show=shown.append, eval_every_steps=every)
    fit(ScriptedModel([PLAIN] * 5), 5, used)
    assert shown == expected
    rows = rows_of(tmp_path)
    assert [row["step"] for row in rows] == expected
    assert [row["dev/bleu"] for row in rows] == [30.0, 31.0][: len(expected)]
    assert all(row["dev/nll"] == 1.5 for row in rows)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [[1], [2], [2], [2], [5]]),
        ({"average": "last"}, [[1], [2], [2], [2], [5]]),
        ({"average": "best"}, [[1], [2, 1], [2, 3], [2, 3], [5, 2]]),
        ({"average": "auto"}, [[1], [2, 1], [2, 3], [2, 3], [5, 2]]),
    ],
)
def test_the_weights_of_the_best_evaluations_are_kept(
    tmp_path: Path, settings: dict[str, Any], expected: list[list[int]]
) -> None:
    kept: list[list[int]] = []
    used = evaluation(
        tmp_path,
        [20.0, 22.0, 22.0, 21.0, 23.0],
        eval_every_steps=1,
        average_checkpoints=2,
        **settings,
    )
    record = AfterUpdate(lambda _: kept.append(best_steps(tmp_path)))
    fit(ScriptedModel([PLAIN] * 5), 5, used, record)
    assert kept == expected
    assert steps(tmp_path) == []


@pytest.mark.parametrize(
    ("past_bleu", "patience", "ends_after"),
    [([], 2, 4), ([], 1, 3), ([], 0, 6), ([25.0], 2, 2), ([25.0, 24.0], 2, 1), ([22.0], 3, 3)],
)
def test_training_stops_early_when_dev_does_not_improve(
    tmp_path: Path, past_bleu: list[float], patience: int, ends_after: int
) -> None:
    done: list[int] = []
    used = evaluation(
        tmp_path,
        [20.0, 21.0, 21.0, 20.5, 20.9, 21.0],
        past_bleu,
        eval_every_steps=1,
        early_stopping_patience=patience,
    )
    fit(ScriptedModel([PLAIN] * 6), 6, used, AfterUpdate(done.append))
    assert done[-1] == ends_after


def test_samples_and_attention_are_written_to_tensorboard(
    tiny_run: Run, tiny_dataset: Dataset, tmp_path: Path
) -> None:
    translator = make_translator(
        dataclasses.replace(tiny_run, search=SearchConfig(beam_size=1, extra_length=2)),
        make_transformer(tiny_run),
    )
    show_samples(tiny_run, translator, tiny_dataset, MetricsWriter(tmp_path, 0), 40)
    (path,) = (tmp_path / "tensorboard").iterdir()
    events = list(tf.compat.v1.train.summary_iterator(str(path)))
    values = {value.tag: value for event in events for value in event.summary.value}
    assert {event.step for event in events if event.summary.value} == {40}
    text = values["dev/samples"].tensor.string_val[0].decode()
    assert text.split("\n")[0] == "source | reference | translation"
    assert len(text.rstrip("\n").split("\n")) == 2 + 5
    assert {tag for tag in values if tag.startswith("attention/")} == {
        "attention/encoder",
        "attention/decoder",
        "attention/memory",
    }
    height, width = map(int, values["attention/memory"].tensor.string_val[:2])
    assert height > 0 and width > 0
