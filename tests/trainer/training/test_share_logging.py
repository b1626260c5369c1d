import json
from pathlib import Path
from typing import Any

import pytest
from absl import logging

from tests.helpers.scripted_model import ScriptedModel, fit
from trainer.config import TrainingConfig
from trainer.runs.metrics_writer import MetricsWriter
from trainer.training.share_logging import ShareLogging


def update(target_tokens: float, nll: float = 1.0) -> tuple[float, ...]:
    return (2.0, nll, 10.0, target_tokens, 1.0)


def test_shares_are_those_of_the_tokens_in_each_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(logging, "info", lambda text, *values: said.append(text % values))
    rows = [update(30.0), update(10.0), update(7.0), update(99.0, nll=float("nan")), update(5.0)]
    config = TrainingConfig(dataset_dir="data/news,data/captions", log_every_steps=2, train_steps=5)
    logged = ShareLogging(MetricsWriter(tmp_path, 0), config, [-1, 0, 1, 1, 0, 0].__getitem__)
    fit(ScriptedModel(rows), 5, logged)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    written: list[dict[str, Any]] = list(map(json.loads, lines))
    names = ("train/target_share/news", "train/target_share/captions")
    assert [(row["step"], *(row[name] for name in names)) for row in written] == [
        (2, 0.75, 0.25),
        (4, 0.0, 1.0),  # the update that was skipped does not count
        (5, 1.0, 0.0),
    ]
    assert said == ["target tokens of this session: news 67.31%, captions 32.69%"]
