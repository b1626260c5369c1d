"""The result of an evaluation as text: the headline, tables of scores, then how it was made."""

import dataclasses
from collections.abc import Sequence

from pipeline.common.tables import format_table
from trainer.evaluation.result import (
    MAIN_METRICS,
    EvaluationResult,
    format_interval,
    format_words,
    main_metric,
)


def format_result(result: EvaluationResult) -> str:
    """Returns a headline with BLEU or F1, tables, their settings and signatures."""
    tables = [_scores(result), _by_length(result), _beside_baseline(result), _robustness(result)]
    return "\n\n".join([_headline(result), *filter(None, tables), _settings(result)])


def _headline(result: EvaluationResult) -> str:
    name = main_metric(result.scores.metrics)
    title, main = MAIN_METRICS[name], result.scores.metrics[name]
    interval = f" (95 % interval {format_interval(main)})" if format_interval(main) else ""
    return f"{result.split}: {title} {main.score:.2f}{interval}, {result.sentences:,} sentences"


def _scores(result: EvaluationResult) -> str:
    rows = [
        [name, f"{metric.score:.2f}", format_interval(metric)]
        for name, metric in result.scores.metrics.items()
        if name not in MAIN_METRICS
    ]
    if result.perplexity is not None:
        rows.append(["perplexity", f"{result.perplexity:.2f}", ""])
        rows.append(["nats per target token", f"{result.nll:.4f}", ""])
    if result.token_accuracy is not None:
        rows.append(["token accuracy, %", f"{100 * result.token_accuracy:.2f}", ""])
    return _table(["metric", "score", "95 % interval"], rows)


def _by_length(result: EvaluationResult) -> str:
    rows = [
        [format_words(group), f"{group.bleu:.2f}", f"{group.sentences:,}"]
        for group in result.scores.bleu_by_length
    ]
    return _table(["source words", "BLEU", "sentences"], rows)


def _beside_baseline(result: EvaluationResult) -> str:
    rows = [
        [
            name,
            f"{compared.score:.2f}",
            f"{compared.baseline:.2f}",
            f"{compared.score - compared.baseline:+.2f}",
            f"{compared.p_value:.4f}",
        ]
        for name, compared in result.scores.beside_baseline.items()
    ]
    return _table(["metric", "this run", "baseline", "difference", "p-value"], rows)


def _robustness(result: EvaluationResult) -> str:
    rows = [[name, f"{bleu:.2f}"] for name, bleu in result.scores.robustness.items()]
    return _table(["test set changed to", "BLEU"], rows)


def _settings(result: EvaluationResult) -> str:
    weights = result.weights
    steps = ", ".join(map(str, weights.averaged_steps))
    averaged = f", average of steps {steps}" if steps else ""
    others = f", ensemble with {', '.join(weights.ensemble)}" if weights.ensemble else ""
    search = dataclasses.asdict(result.search)
    lines = [
        f"weights    step {weights.step}{averaged}{others}",
        f"search     {' '.join(f'{name}={value}' for name, value in search.items())}",
    ]
    lines += [f"{name:10} {metric.signature}" for name, metric in result.scores.metrics.items()]
    return "\n".join(lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table, or nothing without rows."""
    return "\n".join(format_table([header, *rows])) if rows else ""
