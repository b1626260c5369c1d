"""The results of a run: the large figures of its report, and the scores of every test set."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.common.progress import format_duration
from pipeline.dataset.schema import Dataset
from trainer.data.buckets import mix_buckets, steps_per_epoch
from trainer.data.mixture import passes_per_epoch
from trainer.evaluation.result import (
    MAIN_METRICS,
    EvaluationResult,
    format_interval,
    format_words,
    main_metric,
    read_result,
)
from trainer.pages.charts import short
from trainer.pages.html import escape, fold, table
from trainer.runs.checkpoint_files import list_checkpoints
from trainer.runs.metrics_log import read_metrics
from trainer.runs.run_directory import Run
from trainer.training.completion import read_training_result

_METRICS = {
    **MAIN_METRICS,
    "chrf": "chrF",
    "chrf++": "chrF++",
    "ter": "TER",
    "paper_bleu": "the paper's BLEU",
    "comet": "COMET",
    "precision": "precision",
    "recall": "recall",
    "exact_match": "exact match",
    "tagging_accuracy": "tagging accuracy",
    "f1_40": "F1, up to 40 words",
    "no_repair": "without repair",
}
_DEV_BEST = {**dict.fromkeys(MAIN_METRICS, max), "perplexity": min}  # which of several is best


class Figure(NamedTuple):
    """A large number with its name above and what it refers to below."""

    name: str
    value: str
    note: str = ""


class Training(NamedTuple):
    """How far a run has come.

    updates: made so far.
    seconds: training time; None before the first checkpoint.
    candidates: scores on dev by `--average`, of a finished run.
    dev_scores: BLEU or F1 by name, and perplexity, of the final weights; of an unfinished run, the
        best so far.
    """

    updates: int
    seconds: float | None = None
    candidates: Mapping[str, Mapping[str, float]] = {}
    dev_scores: Mapping[str, float] = {}


def read_training(run: Run) -> Training:
    """Reads train.json; of an unfinished run, its metrics and its last checkpoint."""
    if result := read_training_result(run.directory):
        return Training(
            result["steps"],
            result.get("train_seconds"),
            result.get("candidates", {}),
            {name: result[f"dev_{name}"] for name in _DEV_BEST if f"dev_{name}" in result},
        )
    metrics = read_metrics(run.directory)
    updates = max((points[-1][0] for points in metrics.values()), default=0)
    seconds = None
    for checkpoint in list_checkpoints(run.directory):
        updates, seconds = max(updates, checkpoint.step), checkpoint.train_seconds
    scores = {
        name: best(value for _, value in metrics[f"dev/{name}"])
        for name, best in _DEV_BEST.items()
        if f"dev/{name}" in metrics
    }
    return Training(updates, seconds, dev_scores=scores)


def read_results(run: Run) -> list[EvaluationResult]:
    """Reads the evaluations of a run: the dataset's test set first, its dev set last."""
    results = map(read_result, run.directory.glob("evaluation-*.json"))
    order = {"test": 0, "dev": 2}
    return sorted(results, key=lambda result: (order.get(result.split, 1), result.split))


def count_training_tokens(run: Run, datasets: Sequence[Dataset], updates: int) -> float | None:
    """Estimates the source and target tokens of all updates; None if these are other datasets."""
    if [dataset.fingerprint for dataset in datasets] != run.data.fingerprints:
        return None
    buckets = mix_buckets(datasets, run.training, parts=run.training.gradient_accumulation)
    tokens_per_epoch = sum(
        passes * (shard.source_tokens + shard.target_tokens)
        for dataset, passes in zip(datasets, passes_per_epoch(datasets, run.training), strict=True)
        for shard in dataset.splits["train"].shards
    )
    return float(tokens_per_epoch) * updates / steps_per_epoch(buckets)


def format_headline(
    training: Training, results: Sequence[EvaluationResult], *, planned: int, tokens: float | None
) -> str:
    """Returns the most important figures; what was not measured is left out.

    Args:
        training: how far the run has come.
        results: its evaluations; the first is shown, the dev set without any.
        planned: updates of the whole run.
        tokens: in all updates; None if unknown.
    """
    figures = _test_figures(results[0]) if results else _dev_figures(training)
    share = f"of {planned:,} planned" if training.updates < planned else ""
    figures.append(Figure("Updates", f"{training.updates:,}", share))
    if tokens:
        figures.append(Figure("Tokens", f"≈ {short(float(f'{tokens:.2g}'))}", "source and target"))
    if training.seconds is not None:
        figures.append(Figure("Training time", format_duration(training.seconds)))
    return f'<dl class="figures">\n{"".join(map(_format_figure, figures))}</dl>'


def format_test_sets(results: Sequence[EvaluationResult]) -> str:
    """Returns one table of all test sets; folded, the settings needed to reproduce it."""
    if not results:
        return (
            '<p class="note">No test set has been evaluated: run '
            "<code>python -m trainer.evaluate</code>.</p>"
        )
    by_length = _length_table(results)
    return "\n".join(
        [
            _score_table(results),
            *([fold("BLEU by source length", by_length)] if by_length else []),
            fold("Weights, search settings and signatures", _provenance(results)),
        ]
    )


def format_candidates(training: Training) -> str:
    """Returns the dev scores of all candidates for the final weights; empty without any."""
    if not training.candidates:
        return ""
    metric = main_metric(next(iter(training.candidates.values())))
    rows = [
        [name, f"{scores[metric]:.2f}", f"{scores['perplexity']:.3f}", f"{scores['nll']:.4f}"]
        for name, scores in training.candidates.items()
    ]
    header = ["--average", MAIN_METRICS[metric], "perplexity", "nats per token"]
    return "<h3>Candidates for the final weights, on dev</h3>\n" + table(
        header, rows, classes="numbers"
    )


def _test_figures(result: EvaluationResult) -> list[Figure]:
    metrics = result.scores.metrics
    name = main_metric(metrics)
    interval = format_interval(metrics[name])
    notes = [result.split, f"95 % interval {interval}" if interval else ""]
    title = MAIN_METRICS[name]
    figures = [Figure(title, f"{metrics[name].score:.2f}", ", ".join(filter(None, notes)))]
    if "chrf" in metrics:
        figures.append(Figure("chrF", f"{metrics['chrf'].score:.2f}", result.split))
    if result.perplexity is not None:
        figures.append(
            Figure("Perplexity", f"{result.perplexity:.3g}", f"{result.split}, per subword")
        )
    return figures


def _dev_figures(training: Training) -> list[Figure]:
    scores = training.dev_scores
    figures = [
        Figure(title, f"{scores[name]:.2f}", "dev")
        for name, title in MAIN_METRICS.items()
        if name in scores
    ]
    if "perplexity" in scores:
        figures.append(Figure("Perplexity", f"{scores['perplexity']:.3g}", "dev, per subword"))
    return figures


def _format_figure(figure: Figure) -> str:
    note = f'<dd class="note">{escape(figure.note)}</dd>' if figure.note else ""
    return f"<div><dt>{escape(figure.name)}</dt><dd>{escape(figure.value)}</dd>{note}</div>\n"


def _score_table(results: Sequence[EvaluationResult]) -> str:
    columns: dict[str, list[str | None]] = {
        "test set": [result.split for result in results],
        "sentences": [f"{result.sentences:,}" for result in results],
    }
    for name, title in _METRICS.items():
        metrics = [result.scores.metrics.get(name) for result in results]
        columns[title] = [f"{metric.score:.2f}" if metric else None for metric in metrics]
        if name in MAIN_METRICS and any(metrics):
            intervals = [metric and format_interval(metric) for metric in metrics]
            columns["95 % interval"] = [interval or None for interval in intervals]
    columns["perplexity"] = [
        None if result.perplexity is None else f"{result.perplexity:.3f}" for result in results
    ]
    columns["token accuracy, %"] = [
        None if result.token_accuracy is None else f"{100 * result.token_accuracy:.2f}"
        for result in results
    ]
    for name, title in MAIN_METRICS.items():
        differences = [_significance(result, name) for result in results]
        columns[f"{title} against the baseline"] = differences
    measured = {title: cells for title, cells in columns.items() if any(cells)}
    rows = zip(*measured.values(), strict=True)
    return table(list(measured), rows, classes="numbers stacked")


def _significance(result: EvaluationResult, metric: str) -> str | None:
    comparison = result.scores.beside_baseline.get(metric)
    if comparison is None:
        return None
    return f"{comparison.score - comparison.baseline:+.2f} (p = {comparison.p_value:.4f})"


def _length_table(results: Sequence[EvaluationResult]) -> str:
    """Returns a table of BLEU by length; empty of trees."""
    rows = [
        [result.split, format_words(group), f"{group.sentences:,}", f"{group.bleu:.2f}"]
        for result in results
        for group in result.scores.bleu_by_length
    ]
    if not rows:
        return ""
    return table(["test set", "source words", "sentences", "BLEU"], rows, classes="numbers")


def _provenance(results: Sequence[EvaluationResult]) -> str:
    settings = [_settings(result) for result in results]
    names = dict.fromkeys(name for setting in settings for name in setting)
    rows = [[name, *(setting.get(name) for setting in settings)] for name in names]
    signatures = [
        [result.split, _METRICS.get(name, name), metric.signature]
        for result in results
        for name, metric in result.scores.metrics.items()
    ]
    return "\n".join(
        [
            table(["", *(result.split for result in results)], rows, classes="flags"),
            table(["test set", "metric", "signature"], signatures, classes="stacked signatures"),
        ]
    )


def _settings(result: EvaluationResult) -> dict[str, str]:
    """Returns the weights and the search settings of an evaluation."""
    weights = result.weights
    steps = ", ".join(map(str, weights.averaged_steps)) or str(weights.step)
    settings = {"mean of steps" if weights.averaged_steps else "step": steps}
    if weights.ensemble:
        settings["ensemble with"] = ", ".join(weights.ensemble)
    return settings | {
        f"--{name}": str(value) for name, value in dataclasses.asdict(result.search).items()
    }
