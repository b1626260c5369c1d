"""The sections of a run's report: curves, scores, samples, attention, configuration, data."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.common.progress import format_duration
from trainer.evaluation.result import read_result
from trainer.inference.sentence_attention import SentenceAttention
from trainer.pages import attention_viewer
from trainer.pages.charts import Curve, Points, line_chart
from trainer.pages.html import escape, page, table
from trainer.runs.checkpoints import list_best, list_checkpoints
from trainer.runs.metrics_log import read_metrics
from trainer.runs.run_directory import Run


class Chart(NamedTuple):
    """A chart of some figures of metrics.jsonl, each with its name in the legend."""

    title: str
    unit: str
    curves: Mapping[str, str]
    log_scale: bool = False


CHARTS = (
    Chart(
        "Loss",
        "nats per target token",
        {
            "train/loss": "training, smoothed",
            "train/nll": "training, plain",
            "dev/nll": "dev, plain",
        },
    ),
    Chart(
        "Perplexity",
        "per subword",
        {"train/perplexity": "training", "dev/perplexity": "dev"},
        log_scale=True,
    ),
    Chart("BLEU", "sacreBLEU on dev", {"dev/bleu": "dev"}),
    Chart("Learning rate", "of Adam", {"train/learning_rate": "rate"}),
    Chart("Gradient norm", "before Adam", {"train/gradient_norm": "norm"}),
    Chart("Speed", "real tokens of both sides a second", {"train/tokens_per_second": "tokens/s"}),
    Chart("Padding efficiency", "real share of positions", {"train/padding_efficiency": "share"}),
    Chart("Model FLOP/s", "matrix products", {"train/flops_per_second": "FLOP/s"}),
    Chart("Use of the device", "share of its measured peak", {"train/peak_share": "share"}),
)


def report_page(
    run: Run, *, card: str, samples: Sequence[Mapping[str, str]], seen: Sequence[SentenceAttention]
) -> str:
    """Returns the page.

    Args:
        run: what is reported on.
        card: the data card of its dataset as text.
        samples: sentences with `source`, `reference` and `translation`.
        seen: sentences whose attention is shown.
    """
    languages = f"{run.data.source_language} → {run.data.target_language}"
    sections = {
        "Results": _results(run),
        "Curves": _curves(read_metrics(run.directory)),
        "Checkpoints": _checkpoints(run),
        "Translations": _samples(samples),
        "Attention": attention_viewer.viewers(seen),
        "Configuration": _configuration(run),
        "Data": f"<pre>{escape(card)}</pre>",
    }
    title = f"{run.directory.name}: {languages}"
    return page(title, sections, scripts=["charts.js", "attention_viewer.js"])


def _results(run: Run) -> str:
    """Returns every JSON result in the run directory, one column each."""
    results: dict[str, dict[str, Any]] = {}
    train_path = run.directory / "train.json"
    if train_path.exists():
        train = json.loads(train_path.read_text("utf-8"))
        results["train"] = {
            name: ", ".join(map(str, value)) if isinstance(value, list) else value
            for name, value in train.items()
        }
    for path in sorted(run.directory.glob("evaluation-*.json")):
        results[path.stem] = read_result(path).cells()
    if not results:
        return '<p class="note">Not finished, and not evaluated.</p>'
    candidates = results.get("train", {}).pop("candidates", {})
    names = dict.fromkeys(name for column in results.values() for name in column)
    rows = [[name, *(column.get(name) for column in results.values())] for name in names]
    return table(["", *results], rows) + _candidates(candidates)


def _candidates(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Returns the scores on dev of all weights that the run might have ended with."""
    if not scores:
        return ""
    names = list(next(iter(scores.values())))
    rows = [[name, *(values[each] for each in names)] for name, values in scores.items()]
    return "<h3>Averages on dev</h3>\n" + table(["--average", *names], rows)


def _curves(metrics: Mapping[str, Points]) -> str:
    drawn = (
        line_chart(
            chart.title,
            chart.unit,
            [
                Curve(label, metrics[name])
                for name, label in chart.curves.items()
                if name in metrics
            ],
            log_scale=chart.log_scale,
        )
        for chart in CHARTS
    )
    return f'<div class="charts">\n{"".join(drawn)}</div>'


def _checkpoints(run: Run) -> str:
    """Returns a table of all steps that were evaluated or kept, and what they were kept as."""
    metrics = read_metrics(run.directory)
    perplexity, bleu = (dict(metrics.get(f"dev/{name}", ())) for name in ("perplexity", "bleu"))
    saved = {checkpoint.step: checkpoint for checkpoint in list_checkpoints(run.directory)}
    best = {checkpoint.step for checkpoint in list_best(run.directory)}
    rows = [
        [
            step,
            format_duration(saved[step].train_seconds) if step in saved else None,
            ", ".join(["checkpoint"] * (step in saved) + ["best"] * (step in best)),
            perplexity.get(step),
            bleu.get(step),
        ]
        for step in sorted(saved.keys() | best | bleu.keys())
    ]
    return table(["step", "trained for", "kept as", "dev perplexity", "dev BLEU"], rows)


def _samples(samples: Sequence[Mapping[str, str]]) -> str:
    names = ("source", "reference", "translation")
    return table(names, ([sample[name] for name in names] for sample in samples))


def _configuration(run: Run) -> str:
    return "\n".join(
        f"<h3>{title}</h3>\n{table(['flag', 'value', 'meaning'], _flags(config))}"
        for title, config in (
            ("Model", run.transformer),
            ("Training", run.training),
            ("Search", run.search),
        )
    )


def _flags(config: Any) -> Iterable[Sequence[str]]:
    for field in dataclasses.fields(config):
        yield f"--{field.name}", str(getattr(config, field.name)), field.metadata["help"]
