"""The report begins with what a run achieved, and tells what its files say."""

import dataclasses
import json
import re
from collections.abc import Callable

import pytest

from model.config import SearchConfig
from pipeline.dataset.schema import Dataset
from tests.helpers.datasets import split_in_two
from tests.helpers.page_parsing import Page
from trainer.evaluation.result import (
    CorpusScores,
    EvaluatedWeights,
    EvaluationResult,
    LengthBin,
    MetricScore,
    Significance,
    TranslatedSentence,
)
from trainer.pages.curves import CHARTS
from trainer.pages.mixture import mixture_table
from trainer.pages.results import count_training_tokens
from trainer.pages.run_report import Illustrations, report_page
from trainer.runs.checkpoints import save_best, save_checkpoint, take_snapshot
from trainer.runs.origin import Origin
from trainer.runs.run_directory import Run
from trainer.runs.training_data import MixedIn
from trainer.training.train_step import TrainingModel

SAMPLES = [TranslatedSentence("a", "b", "c", score=-0.5)]
Report = Callable[[], Page]


@pytest.fixture
def run(make_run: Callable[..., Run], make_training_model: Callable[..., TrainingModel]) -> Run:
    """A run of 40 of 50 steps, evaluated at 20 and 40, with one checkpoint left."""
    run = make_run(label_smoothing=0.25, train_steps=50, tokens_per_batch=100)
    run.directory.mkdir()
    training_model = make_training_model()
    save_checkpoint(
        run.directory, take_snapshot(training_model), step=40, train_seconds=75.0, keep=5
    )
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


@pytest.fixture
def report(run: Run, tiny_dataset: Dataset) -> Report:
    """Reads the page that the run has now."""

    def read() -> Page:
        page = report_page(
            run,
            tiny_dataset,
            parameters=1_234_567,
            card="a <card>",
            illustrations=Illustrations(SAMPLES, []),
        )
        return Page(page)

    return read


def write_training_result(run: Run) -> None:
    result = {
        "steps": 40,
        "average": "last",
        "asked_for": "last of 2",
        "averaged_steps": [20, 40],
        "train_seconds": 80.0,
        "dev_nll": 2.5,
        "dev_perplexity": 12.18,
        "dev_bleu": 4.5,
        "candidates": {
            "last": {"nll": 2.5, "perplexity": 12.18, "bleu": 4.5},
            "best": {"nll": 2.25, "perplexity": 9.49, "bleu": 4.0},
        },
    }
    (run.directory / "train.json").write_text(json.dumps(result), "utf-8")


def write_evaluation(run: Run, split: str, bleu: float, *, in_dataset: bool) -> None:
    """Writes an evaluation; one of a foreign test set has no loss, interval or baseline."""
    metrics = {
        "bleu": MetricScore(bleu, bleu - 1.25, bleu + 1.25, "tok:13a"),
        "chrf": MetricScore(40.125, None, None, "nc:6"),
    }
    scores = CorpusScores(metrics, (LengthBin(51, None, 3, 9.5),))
    weights = EvaluatedWeights(40, (20, 40), (), 75.0, "fingerprint")
    result = EvaluationResult(split, 1234, scores, weights, SearchConfig(beam_size=7))
    if in_dataset:
        significance = {"bleu": Significance(bleu, bleu + 0.25, 0.25)}
        scores = dataclasses.replace(scores, beside_baseline=significance)
        result = dataclasses.replace(result, scores=scores, nll=1.0, perplexity=2.5)
    path = run.directory / f"evaluation-{split}.json"
    path.write_text(json.dumps(result.to_json()), "utf-8")


def figures(page: Page) -> dict[str, list[str]]:
    """The large figures by name: value and note."""
    names: dict[str, list[str]] = {}
    for element in page.elements:
        if element.tag == "dt":
            cells = names.setdefault("".join(element.text), [])
        elif element.tag == "dd":
            cells.append("".join(element.text))
    return names


def test_page_begins_with_model_data_and_large_figures(run: Run, report: Report) -> None:
    write_training_result(run)
    write_evaluation(run, "test", 12.25, in_dataset=True)
    page = report()
    assert page.texts("h1") == ["run: en → de"]
    tags = [element.tag for element in page.elements]
    assert tags.index("h1") < tags.index("p") < tags.index("dl") < tags.index("h2")
    assert page.texts("p")[0] == (
        "Transformer of 1.2 M parameters (N=1, d_model=16, d_ff=24, h=2) · "
        "data tiny: 310 training pairs, 700 subwords"
    )
    shown = figures(page)
    assert list(shown) == ["BLEU", "chrF", "Perplexity", "Updates", "Tokens", "Training time"]
    assert shown["BLEU"] == ["12.25", "test, 95 % interval 11.00 to 13.50"]
    assert shown["chrF"] == ["40.12", "test"]
    assert shown["Perplexity"] == ["2.5", "test, per subword"]
    assert shown["Updates"] == ["40", "of 50 planned"]
    assert shown["Training time"] == ["1m20s"]


def test_depths_that_differ_and_the_origin_are_shown(
    run: Run, report: Report, tiny_dataset: Dataset
) -> None:
    deep = dataclasses.replace(run.transformer, encoder_layers=6, decoder_layers=2)
    origin = Origin("runs/base/averaged", 1234, "f00")
    page = report_page(
        dataclasses.replace(run, transformer=deep, origin=origin),
        tiny_dataset,
        parameters=1_234_567,
        card="a card",
        illustrations=Illustrations([], []),
    )
    assert "(N=6 + 2, d_model=16" in page
    assert " · started from runs/base/averaged, step 1,234<" in page


def test_figures_of_an_unfinished_run_are_those_of_dev(report: Report) -> None:
    shown = figures(report())
    assert shown["BLEU"] == ["4.75", "dev"]
    assert shown["Perplexity"] == ["8.5", "dev, per subword"]
    assert shown["Updates"] == ["40", "of 50 planned"]
    assert shown["Training time"] == ["1m15s"]
    assert "chrF" not in shown


def test_a_finished_run_shows_the_scores_of_its_final_weights(run: Run, report: Report) -> None:
    write_training_result(run)
    shown = figures(report())
    assert shown["BLEU"] == ["4.50", "dev"]
    assert shown["Perplexity"] == ["12.2", "dev, per subword"]


def test_tokens_are_those_of_the_epochs_trained(run: Run, tiny_dataset: Dataset) -> None:
    shards = tiny_dataset.splits["train"].shards
    tokens = sum(shard.source_tokens + shard.target_tokens for shard in shards)
    batches = sum(shard.rows / (200 // sum(shard.shape)) for shard in shards)
    assert count_training_tokens(run, [tiny_dataset], 40) == pytest.approx(tokens * 40 / batches)
    foreign = dataclasses.replace(tiny_dataset, fingerprint="another")
    assert count_training_tokens(run, [foreign], 40) is None


def test_datasets_of_a_mixture_stand_in_one_table(run: Run, tiny_dataset: Dataset) -> None:
    training = dataclasses.replace(
        run.training, dataset_dir="/x/news,/x/captions", dataset_weights=("3", "1")
    )
    data = dataclasses.replace(
        run.data, mixed_in=(MixedIn("rest", "en", "de"),), fingerprint="third"
    )
    mixed = dataclasses.replace(run, training=training, data=data)
    third, rest = split_in_two(tiny_dataset)
    rows = [{"step": step, "train/target_share/news": share} for step, share in ((1, 0.5), (2, 1))]
    with (run.directory / "metrics.jsonl").open("a") as file:
        file.write("\n" + "".join(json.dumps(row) + "\n" for row in rows))
    table = mixture_table(mixed, [third, rest])
    cells = [re.sub("<[^>]*>", " ", row).split() for row in table.split("<tr>")[2:]]
    assert [row[0] for row in cells] == ["news", "captions"]
    assert cells[0][1:5] == ["en", "→", "de", f"{third.splits['train'].pairs}"]
    assert cells[0][-2:] == ["75.0%", "75.0%"] and cells[1][-3:] == ["1.00", "25.0%", "–"]
    assert mixture_table(run, [tiny_dataset]) == ""
    both = count_training_tokens(mixed, [third, rest], 40)
    assert both is not None and both > 0
    assert count_training_tokens(mixed, [third], 40) is None


def test_all_test_sets_stand_in_one_table(run: Run, report: Report) -> None:
    write_evaluation(run, "dev", 10.25, in_dataset=True)
    write_evaluation(run, "newstest2014", 8.25, in_dataset=False)
    write_evaluation(run, "test", 12.25, in_dataset=True)
    page = report()
    assert page.texts("th")[:8] == [
        *("test set", "sentences", "BLEU", "95 % interval", "chrF", "perplexity"),
        *("BLEU against the baseline", "test set"),
    ]
    baseline = "-0.25 (p = 0.2500)"
    assert page.texts("td")[:21] == [
        *("test", "1,234", "12.25", "11.00 to 13.50", "40.12", "2.500", baseline),
        *("newstest2014", "1,234", "8.25", "7.00 to 9.50", "40.12", "–", "–"),
        *("dev", "1,234", "10.25", "9.00 to 11.50", "40.12", "2.500", baseline),
    ]


def test_search_settings_and_signatures_are_folded_away(run: Run, report: Report) -> None:
    write_evaluation(run, "test", 12.25, in_dataset=True)
    page = report()
    folded = {
        "".join(element.text).partition("\n")[0]: "".join(element.text)
        for element in page.all("details")
    }
    assert list(folded) == [
        "BLEU by source length",
        "Weights, search settings and signatures",
        *("Model: all settings", "Training: all settings", "Search: all settings"),
        "Data card",
    ]
    assert "test51 to …39.50" in folded["BLEU by source length"]
    provenance = folded["Weights, search settings and signatures"]
    assert "mean of steps20, 40" in provenance
    assert "--beam_size7" in provenance
    assert "testBLEUtok:13a" in provenance and "testchrFnc:6" in provenance
    assert all(element.attributes == {} for element in page.all("details"))


def test_nothing_is_empty_and_no_key_of_a_file_is_shown(run: Run, report: Report) -> None:
    write_training_result(run)
    write_evaluation(run, "test", 12.25, in_dataset=True)
    page = report()
    for tag in ("td", "dt", "dd", "h2", "h3", "summary", "caption"):
        assert all(text.strip() for text in page.texts(tag))
    cells = {text.strip() for tag in ("td", "th", "dt") for text in page.texts(tag)}
    keys = {"asked_for", "averaged_steps", "train_seconds", "sacrebleu", "top_k", "ensemble"}
    assert not keys & cells


def test_an_evaluation_is_suggested_where_none_was_made(report: Report) -> None:
    assert any("trainer.evaluate" in text for text in report().texts("p"))


def test_a_run_before_its_first_step_has_no_empty_tables(
    make_run: Callable[..., Run], tiny_dataset: Dataset
) -> None:
    run = make_run()
    run.directory.mkdir()
    illustrations = Illustrations(SAMPLES, [])
    text = report_page(run, tiny_dataset, parameters=1, card="", illustrations=illustrations)
    page = Page(text)
    assert "Curves" not in page.texts("h2") and "Checkpoints" not in page.texts("h2")
    assert all(body.strip() for body in page.texts("tbody"))
    assert figures(page)["Updates"] == ["0", "of 100,000 planned"]


def test_report_is_whole_and_needs_nothing_else(report: Report) -> None:
    page = report()
    assert page.loads() == []
    assert page.texts("pre") == ["a <card>"]
    cells = page.texts("td")
    assert cells[cells.index("a") : cells.index("a") + 3] == ["a", "b", "c"]


def test_settings_that_differ_from_the_defaults_stand_first(report: Report) -> None:
    cells = report().texts("td")
    first = cells.index("--label_smoothing")
    assert cells[first : first + 3] == ["--label_smoothing", "0.25", "0.1"]
    assert cells.count("--label_smoothing") == 2
    assert cells.count("--adam_beta_1") == 1


def test_only_measured_metrics_are_drawn(report: Report) -> None:
    page = report()
    assert page.texts("figcaption") == [
        "BLEU, sacreBLEU on dev, 2 evaluations ",
        "Perplexity, per subword, 2 evaluations ",
        "Loss, nats per target token ",
    ]
    data = [json.loads(line.attributes["data-points"] or "") for line in page.all("polyline")]
    assert data[0] == [[20, 3.25], [40, 4.75]]
    assert data[-2:] == [[[20, 6.5], [40, 5.5]], [[20, 6.0], [40, 5.0]]]


def test_best_evaluations_are_marked_in_their_curves(report: Report) -> None:
    marks = [text for text in report().texts("b") if text.startswith("best ")]
    assert marks == ["best 4.75 at 40", "best 8.5 at 40", "best 5 at 40"]


def test_checkpoints_stand_beside_their_scores(report: Report) -> None:
    cells = report().texts("td")
    first = cells.index("20")
    assert cells[first : first + 10] == [
        *("20", "–", "–", "9.5", "3.25"),
        *("40", "1m15s", "checkpoint, best", "8.5", "4.75"),
    ]


def test_candidates_for_the_final_weights_are_compared(run: Run, report: Report) -> None:
    write_training_result(run)
    cells = report().texts("td")
    first = cells.index("last")
    assert cells[first : first + 8] == [
        *("last", "4.50", "12.180", "2.5000"),
        *("best", "4.00", "9.490", "2.2500"),
    ]


def test_every_metric_is_drawn_in_one_chart() -> None:
    names = [name for chart in CHARTS for name in chart.curves]
    assert len(names) == len(set(names))
    assert all(1 <= len(chart.curves) <= 3 for chart in CHARTS)
