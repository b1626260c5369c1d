import json
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.trainer.scripted import (
    PLAIN,
    AfterUpdate,
    ScriptedLearner,
    checkpointing,
    fit,
    steps,
    telemetry,
)
from trainer import callbacks
from trainer.callbacks import Checkpointing, DevEvaluation, count_since_best
from trainer.checkpoints import list_checkpoints
from trainer.config import TrainingConfig
from trainer.telemetry import MetricsWriter


def rows_of(run_dir: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


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
    learner = ScriptedLearner(
        [
            (8.0, 4.0, 10.0, 1.0, 1.0),
            (4.0, 2.0, 20.0, 3.0, 8.0),
            (1.0, 0.5, 7.0, 5.0, 1.0),
        ]
    )
    reporting = telemetry(MetricsWriter(tmp_path, 0), train_steps=3, every_steps=2, peak_flops=96.0)
    fit(learner, 3, AfterUpdate(lambda _: clock.pass_seconds(2.0)), reporting)
    first, last = rows_of(tmp_path)
    assert first["step"] == 2
    assert first["train/loss"] == pytest.approx((8 * 1 + 4 * 3) / 4)
    assert first["train/nll"] == pytest.approx((4 * 1 + 2 * 3) / 4)
    assert first["train/perplexity"] == pytest.approx(math.exp(2.5))
    assert first["train/tokens_per_second"] == pytest.approx((10 + 20 + 1 + 3) / 4.0)
    assert first["train/learning_rate"] == 0.25
    assert first["train/gradient_norm"] == pytest.approx((40 + 20) / 2)
    positions = 3 * (7 + 9)  # of each batch
    assert first["train/padding_efficiency"] == pytest.approx((10 + 20 + 1 + 3) / (2 * positions))
    assert first["train/flops_per_second"] == pytest.approx(2 * positions / 4.0)
    assert first["train/peak_share"] == pytest.approx(24.0 / 96.0)
    assert first["train/programs"] == 1
    assert first["train/loss_scale"] == 8.0
    assert last["step"] == 3  # the interval is not full, but training is over
    assert last["train/loss"] == 1.0
    assert last["train/tokens_per_second"] == pytest.approx((7 + 5) / 2.0)


def test_skipped_updates_do_not_count(tmp_path: Path) -> None:
    bad = (math.nan, 1.0, 10.0, 10.0, 1.0)
    learner = ScriptedLearner([PLAIN, bad, bad, bad])
    fit(learner, 4, telemetry(MetricsWriter(tmp_path, 0), train_steps=4, every_steps=2))
    first, last = rows_of(tmp_path)
    assert first["train/loss"] == PLAIN[0]
    assert first["train/gradient_norm"] == 10 * PLAIN[1]
    assert math.isnan(last["train/loss"])
    assert math.isnan(last["train/padding_efficiency"])


def test_intervals_are_counted_over_all_sessions(tmp_path: Path) -> None:
    learner = ScriptedLearner([PLAIN] * 6)
    writer = MetricsWriter(tmp_path, 0)
    for updates in (3, 3):
        fit(learner, updates, telemetry(writer, train_steps=99, every_steps=2))
    assert [row["step"] for row in rows_of(tmp_path)] == [2, 4, 6]


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


def evaluation(
    run_dir: Path, bleu: Sequence[float], past_bleu: Sequence[float] = (), **settings: Any
) -> DevEvaluation:
    """Evaluates to the given BLEU scores, one after another."""
    scores = iter(bleu)
    return DevEvaluation(
        lambda: {"nll": 1.5, "bleu": next(scores)},
        MetricsWriter(run_dir, 0),
        run_dir,
        TrainingConfig(**settings),
        past_bleu=past_bleu,
    )


@pytest.mark.parametrize(("every", "expected"), [(2, [2, 4]), (0, [])])
def test_dev_is_evaluated_every_so_many_steps(
    tmp_path: Path, every: int, expected: list[int]
) -> None:
    used = evaluation(tmp_path, [30.0, 31.0], eval_every_steps=every)
    fit(ScriptedLearner([PLAIN] * 5), 5, used)
    rows = rows_of(tmp_path)
    assert [row["step"] for row in rows] == expected
    assert [row["dev/bleu"] for row in rows] == [30.0, 31.0][: len(expected)]
    assert all(row["dev/nll"] == 1.5 for row in rows)


def test_the_weights_of_the_best_evaluation_are_kept(tmp_path: Path) -> None:
    kept: list[list[int]] = []
    used = evaluation(tmp_path, [20.0, 22.0, 22.0, 21.0, 23.0], eval_every_steps=1)
    record = AfterUpdate(lambda _: kept.append(steps(tmp_path, "best")))
    fit(ScriptedLearner([PLAIN] * 5), 5, used, record)
    assert kept == [[1], [2], [2], [2], [5]]


def test_the_best_of_earlier_sessions_is_not_displaced_by_less(tmp_path: Path) -> None:
    used = evaluation(tmp_path, [29.0, 31.0], past_bleu=[30.0, 28.0], eval_every_steps=1)
    kept: list[list[int]] = []
    record = AfterUpdate(lambda _: kept.append(steps(tmp_path, "best")))
    fit(ScriptedLearner([PLAIN] * 2), 2, used, record)
    assert kept == [[], [2]]


@pytest.mark.parametrize(
    ("past_bleu", "patience", "ends_after"),
    [([], 2, 4), ([], 1, 3), ([], 0, 6), ([25.0], 2, 2), ([25.0, 24.0], 2, 1), ([22.0], 3, 3)],
)
def test_training_ends_when_dev_gains_no_more(
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
    fit(ScriptedLearner([PLAIN] * 6), 6, used, AfterUpdate(done.append))
    assert done[-1] == ends_after


@pytest.mark.parametrize(
    ("bleu", "count"), [([], 0), ([5.0], 0), ([5.0, 6.0], 0), ([6.0, 6.0, 2.0], 2), ([0.0, 0.0], 1)]
)
def test_evaluations_are_counted_since_the_first_best(bleu: list[float], count: int) -> None:
    assert count_since_best(bleu) == count
