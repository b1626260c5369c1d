"""Table 1 of the paper with what was measured, as a table and as a plot."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.benchmarks.layer_types import LAYER_TYPES, fit_exponent, least_seconds
from tests.benchmarks.record import RESULTS, Record
from tests.benchmarks.record_tables import (
    Row,
    format_figure,
    from_records,
    machine_name,
    record_link,
    records_of,
)
from trainer.pages.charts import Axis, Curve, line_chart
from trainer.pages.pictures import Picture

PLOT = RESULTS / "layer_types.svg"
_SHOWN = ("64", "512", "1024", "4096")
_COMMAND = (
    "python -m tests.benchmarks.layer_types --output=tests/benchmarks/results/layer_types.json"
    " && python -m tests.benchmarks.tables"
)


def layer_types() -> str:
    """Returns a row for each layer type: the paper's orders, time by length, exponents."""
    header = ["layer", "complexity", "exponent of n, in time", "of operations", "of memory"]
    header += [*(f"ms, n = {int(n):,}" for n in _SHOWN), "MiB, n = 4,096"]
    header += ["GFLOP, n = 4,096", "sequential", "longest path", "machine", "record"]
    return from_records("layer_types", header, _rows, _COMMAND)


def crossings() -> str:
    """Returns the lengths from which self-attention takes longer than the other layers."""
    header = ["self-attention is slower than", "by operations, from n =", "by time, from n ="]
    return from_records("layer_types", header, _crossing_rows, _COMMAND)


def plot() -> str:
    """Returns the plot of the newest record as a file of SVG; empty without one."""
    records = records_of("layer_types")
    if not records:
        return ""
    layers = records[-1]["results"]["layers"]
    curves = [
        Curve(name, [(int(n), 1e3 * seconds) for n, seconds in least_seconds(entry).items()])
        for name, entry in layers.items()
    ]
    axis, across = Axis(log_scale=True), Axis(log_scale=True, name="n")
    chart = line_chart("Time of a layer", "ms, by tokens", curves, axis=axis, across=across)
    return Picture(chart).svg()


def _rows(record: Record) -> Iterator[Row]:
    for name, entry in record["results"]["layers"].items():
        paper, lengths = LAYER_TYPES[name], entry["lengths"]
        longest = lengths[max(lengths, key=int)]
        times = least_seconds(entry)
        yield [
            name,
            paper.complexity,
            *(_exponent(values) for values in (times, _each(lengths, "operations"))),
            _exponent(_each(lengths, "bytes")),
            *(format_figure(1e3 * times[n]) if n in times else None for n in _SHOWN),
            format_figure(longest["bytes"] / 2**20),
            format_figure(longest["operations"] / 1e9),
            f"{longest['sequential']:,}, {paper.sequential}",
            f"{longest['path']:,}, {paper.path}",
            machine_name(record),
            record_link(record),
        ]


def _crossing_rows(record: Record) -> Iterator[Row]:
    layers = record["results"]["layers"]
    ours = layers["self-attention"]
    for name, entry in layers.items():
        if name != "self-attention":
            counted = (_each(side["lengths"], "operations") for side in (ours, entry))
            yield [
                name,
                _first_longer(*counted),
                _first_longer(least_seconds(ours), least_seconds(entry)),
            ]


def _each(lengths: Mapping[str, Any], figure: str) -> dict[str, float]:
    return {n: measured[figure] for n, measured in lengths.items()}


def _exponent(values: Mapping[str, float]) -> str | None:
    exponent = fit_exponent(values)
    return None if exponent is None else f"{exponent:.2f}"


def _first_longer(ours: Mapping[str, float], others: Mapping[str, float]) -> str:
    """Returns the least measured length from which `ours` stays above `others`."""
    longer: list[str] = []
    for n in sorted(ours, key=int, reverse=True):
        if ours[n] <= others[n]:
            break
        longer.append(n)
    return f"{int(longer[-1]):,}" if longer else "not up to 4,096"
