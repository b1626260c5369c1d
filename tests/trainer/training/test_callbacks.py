import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.scripted_model import (
    PLAIN,
    AfterUpdate,
    FakeClock,
    ScriptedModel,
    fit,
    metrics_logging,
)
from trainer.runs.metrics_writer import MetricsWriter
from trainer.training import update_loop


def rows_of(run_dir: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(update_loop, "time", clock)
    return clock


def take_time(training_model: ScriptedModel, clock: FakeClock, seconds: float) -> None:
    """Lets each call of the compiled function take `seconds`."""
    make_updates = training_model._make_updates

    def make_updates_slowly(*arguments: Any) -> None:
        clock.pass_seconds(seconds)
        make_updates(*arguments)

    training_model._make_updates = make_updates_slowly


def test_figures_are_averaged_over_the_tokens_of_an_interval(
    tmp_path: Path, clock: FakeClock
) -> None:
    training_model = ScriptedModel(
        [
            (8.0, 4.0, 10.0, 1.0, 1.0),
            (4.0, 2.0, 20.0, 3.0, 8.0),
            (1.0, 0.5, 7.0, 5.0, 1.0),
        ]
    )
    reporting = metrics_logging(
        MetricsWriter(tmp_path, 0), train_steps=3, every_steps=2, peak_flops=96.0
    )
    take_time(training_model, clock, seconds=2.0)
    # What happens between updates, such as an evaluation, does not count.
    fit(training_model, 3, AfterUpdate(lambda _: clock.pass_seconds(9.0)), reporting)
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
    training_model = ScriptedModel([PLAIN, bad, bad, bad])
    fit(
        training_model, 4, metrics_logging(MetricsWriter(tmp_path, 0), train_steps=4, every_steps=2)
    )
    first, last = rows_of(tmp_path)
    assert first["train/loss"] == PLAIN[0]
    assert first["train/gradient_norm"] == 10 * PLAIN[1]
    assert not {"train/loss", "train/padding_efficiency"} & last.keys()
    assert last["train/tokens_per_second"] == 0.0


def test_intervals_are_counted_over_all_sessions(tmp_path: Path) -> None:
    training_model = ScriptedModel([PLAIN] * 6)
    writer = MetricsWriter(tmp_path, 0)
    for updates in (3, 3):
        fit(training_model, updates, metrics_logging(writer, train_steps=99, every_steps=2))
    assert [row["step"] for row in rows_of(tmp_path)] == [2, 4, 6]
