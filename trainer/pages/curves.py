"""The curves of a run: what its metrics.jsonl holds, as charts."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from trainer.pages.charts import LINEAR, Axis, Curve, Points, line_chart

_FEW_POINTS = 3


class Chart(NamedTuple):
    """A chart of one to three metrics.

    unit: of the values.
    curves: name in the legend by metric; the last one measured is the one that `best` marks.
    axis: the vertical axis.
    best: min or max where lower or higher is better.
    """

    title: str
    unit: str
    curves: Mapping[str, str]
    axis: Axis = LINEAR
    best: Callable[[Iterable[float]], float] | None = None


CHARTS = (
    Chart("BLEU", "sacreBLEU on dev", {"dev/bleu": "dev"}, best=max),
    Chart("F1", "labelled brackets on dev", {"dev/f1": "dev"}, best=max),
    Chart("chrF", "sacreBLEU on dev", {"dev/chrf": "dev"}, best=max),
    Chart(
        "Perplexity",
        "per subword",
        {"train/perplexity": "training", "dev/perplexity": "dev"},
        Axis(log_scale=True),
        min,
    ),
    Chart(
        "Loss",
        "nats per target token",
        {
            "train/loss": "training, smoothed",
            "train/nll": "training, plain",
            "dev/nll": "dev, plain",
        },
        best=min,
    ),
    Chart("Learning rate", "of Adam", {"train/learning_rate": "rate"}, Axis(covers=(0,))),
    Chart("Gradient norm", "before Adam", {"train/gradient_norm": "norm"}, Axis(covers=(0,))),
    Chart(
        "Speed",
        "tokens of both sides",
        {"train/tokens_per_second": "tokens/s"},
        Axis(covers=(0,)),
        max,
    ),
    Chart(
        "Padding efficiency",
        "fraction without padding",
        {"train/padding_efficiency": "fraction"},
        Axis(covers=(0, 1)),
        max,
    ),
    Chart(
        "Model FLOP/s",
        "matrix products",
        {"train/flops_per_second": "FLOP/s"},
        Axis(covers=(0,)),
        max,
    ),
    Chart(
        "Device utilisation",
        "fraction of its peak",
        {"train/peak_share": "fraction"},
        Axis(covers=(0, 1)),
        max,
    ),
)


def draw_curves(metrics: Mapping[str, Points]) -> str:
    """Returns a grid with every chart of which something was measured; empty without any."""
    charts = "".join(_draw(chart, metrics) for chart in CHARTS)
    return f'<div class="charts">\n{charts}</div>' if charts else ""


def _draw(chart: Chart, metrics: Mapping[str, Points]) -> str:
    curves = [
        Curve(label, metrics[name]) for name, label in chart.curves.items() if name in metrics
    ]
    unit = chart.unit
    if len(curves) == 1 and len(curves[0].points) <= _FEW_POINTS:
        points = len(curves[0].points)
        unit += ", one evaluation" if points == 1 else f", {points} evaluations"
    return line_chart(chart.title, unit, curves, axis=chart.axis, best=chart.best)
