"""A report tells what the files of a run say."""

import json
from collections.abc import Callable

import pytest

from model.config import SearchConfig
from tests.helpers.page_parsing import Page
from trainer.evaluation.result import (
    CorpusScores,
    EvaluatedWeights,
    EvaluationResult,
    LengthBin,
    MetricScore,
    Significance,
)
from trainer.pages.run_report import CHARTS, report_page
from trainer.runs.checkpoints import save_best, save_checkpoint
from trainer.runs.run_directory import Run
from trainer.training.train_step import TrainingModel

SAMPLES = [{"source": "a", "reference": "b", "translation": "c"}]


@pytest.fixture
def run(make_run: Callable[..., Run], make_training_model: Callable[..., TrainingModel]) -> Run:
    """A run of 40 steps, evaluated at 20 and 40, with one checkpoint left."""
    run = make_run(label_smoothing=0.25)
    run.directory.mkdir()
    training_model = make_training_model()
    save_checkpoint(run.directory, training_model, step=40, train_seconds=75.0, keep=5)
    save_best(run.directory, training_model.transformer, step=40, bleu=4.75, keep=1)
    rows = [
        {"step": 20, "time": 1.0, "train/loss": 6.5, "train/nll": 6.0},
        {"step": 20, "time": 2.0, "dev/bleu": 3.25, "dev/perplexity": 9.5},
        {"step": 40, "time": 3.0, "train/loss": 5.5, "train/nll": 5.0},
        {"step": 40, "time": 4.0, "dev/bleu": 4.75, "dev/perplexity": 8.5},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (run.directory / "metrics.jsonl").write_text(lines + '{"step": 60, "tr', "utf-8")
    return run


def read(run: Run) -> Page:
    return Page(report_page(run, card="a <card>", samples=SAMPLES, seen=[]))


def test_report_is_whole_and_needs_nothing_else(run: Run) -> None:
    page = read(run)
    assert page.texts("h1") == ["run: en → de"]
    assert page.loads() == []
    assert page.texts("pre") == ["a <card>"]
    cells = page.texts("td")
    assert cells[cells.index("--label_smoothing") + 1] == "0.25"
    assert cells[cells.index("a") : cells.index("a") + 3] == ["a", "b", "c"]


def test_only_figures_that_were_measured_are_drawn(run: Run) -> None:
    page = read(run)
    assert page.texts("figcaption") == [
        "Loss, nats per target token ",
        "Perplexity, per subword ",
        "BLEU, sacreBLEU on dev ",
    ]
    data = [json.loads(each.attributes["data-points"] or "") for each in page.all("polyline")]
    assert data[:2] == [[[20, 6.5], [40, 5.5]], [[20, 6.0], [40, 5.0]]]
    assert data[-1] == [[20, 3.25], [40, 4.75]]


def test_checkpoints_stand_beside_their_scores(run: Run) -> None:
    cells = read(run).texts("td")
    assert cells[:10] == [
        *("20", "", "", "9.5", "3.25"),
        *("40", "1m15s", "checkpoint, best", "8.5", "4.75"),
    ]


def test_results_stand_side_by_side(run: Run) -> None:
    train = {
        "steps": 40,
        "averaged_steps": [20, 40],
        "candidates": {"last": {"nll": 2.5, "bleu": 4.5}, "best": {"nll": 2.25, "bleu": 4.0}},
    }
    (run.directory / "train.json").write_text(json.dumps(train), "utf-8")
    scores = CorpusScores(
        {"bleu": MetricScore(12.25, 11.0, 13.5, "tok:13a")},
        (LengthBin(51, None, 3, 9.5),),
        {"bleu": Significance(12.25, 12.5, 0.25)},
    )
    weights = EvaluatedWeights(40, (20, 40), (), 75.0, "fingerprint")
    result = EvaluationResult("test", 3, scores, weights, SearchConfig(), nll=1.0, perplexity=2.5)
    path = run.directory / "evaluation-test.json"
    path.write_text(json.dumps(result.to_json()), "utf-8")
    page = read(run)
    assert page.texts("th")[:3] == ["", "train", "evaluation-test"]
    cells = page.texts("td")
    candidates = cells.index("last")
    rows = {cells[row]: cells[row + 1 : row + 3] for row in range(0, candidates, 3)}
    assert rows["steps"] == ["40", ""]
    assert rows["averaged_steps"] == ["20, 40", "20, 40"]
    assert rows["sacrebleu"] == ["", "12.25"]
    assert rows["perplexity"] == ["", "2.5"]
    assert rows["beam_size"] == ["", "4"]
    assert rows["bleu"] == ["", "12.25 (11.00 to 13.50)"]
    assert rows["bleu, 51 to … words"] == ["", "9.50 (3 sentences)"]
    assert rows["bleu beside the baseline"] == ["", "-0.25 (p = 0.2500)"]
    assert cells[candidates : candidates + 6] == ["last", "2.5", "4.5", "best", "2.25", "4"]


def test_every_figure_is_drawn_in_one_chart() -> None:
    names = [name for chart in CHARTS for name in chart.curves]
    assert len(names) == len(set(names))
    assert all(1 <= len(chart.curves) <= 3 for chart in CHARTS)
