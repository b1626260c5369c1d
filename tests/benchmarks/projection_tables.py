"""Tables of what the paper's trainings take: time on GPUs, and memory."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import Row, format_figure, from_records

_P100_HOURS = {"base": 12, "big": 84}  # §5.2, on eight
_P100_PEAK = 8 * 10.6e12  # float32, NVIDIA's data sheet "Tesla P100"
_MEMORY_PARTS = ("weights", "optimizer", "gradients", "activations", "workspace")


def projection() -> str:
    """Returns time and share of peak of the paper's trainings on GPUs."""
    header = ["projected, not measured", "model", "ms an update", "share of peak", "hours"]
    header += ["of which start, minutes"]
    return from_records("projection", header, _projection_rows, _command("projection"))


def projection_check() -> str:
    """Returns public figures beside the projection's range."""
    header = [
        "NVIDIA's code, big model",
        "measured, target tokens/s",
        "projected by the same model",
    ]
    return from_records("projection", header, _published_rows, _command("projection"))


def projection_changes() -> str:
    """Returns what flags change."""
    header = ["base on 8 × A100, projected", "target tokens/s"]
    return from_records("projection", header, _change_rows, _command("projection"))


def memory() -> str:
    """Returns the memory of one device, by formula, beside XLA's count."""
    header = ["GB on each device", "rows", *_MEMORY_PARTS, "total", "XLA's count / formula"]
    return from_records("memory", header, _memory_rows, _command("memory"))


def _command(benchmark: str) -> str:
    output = f"tests/benchmarks/results/{benchmark}.json"
    return f"python -m tests.benchmarks.{benchmark} --output={output}"


def _projection_rows(record: Record) -> Iterator[Row]:
    results = record["results"]
    for name, model in results["models"].items():
        hours = _P100_HOURS[name]
        milliseconds = 3.6e6 * hours / model["updates"]
        share = model["operations_per_update"] / (milliseconds / 1e3 * _P100_PEAK)
        cells = [format_figure(milliseconds), f"{share:.0%}", hours, None]
        yield ["the paper's 8 × P100, measured", name, *cells]
    for machine, models in results["machines"].items():
        for name, figures in models.items():
            yield [machine, name, *_projected(figures)]


def _projected(figures: Mapping[str, Sequence[float]]) -> list[str]:
    likely, cautious = figures["share_of_peak"]
    return [
        _range(figures["milliseconds"]),
        f"{likely:.0%} to {cautious:.0%}",
        _range(figures["hours"]),
        _range(figures["start_up_minutes"]),
    ]


def _published_rows(record: Record) -> Iterator[Row]:
    for name, figures in record["results"]["published"].items():
        yield [name, f"{figures['tokens_per_second']:,}", _range(figures["projected"])]


def _change_rows(record: Record) -> Iterator[Row]:
    for name, speeds in record["results"]["changes"].items():
        yield [name, _range(speeds)]


def _memory_rows(record: Record) -> Iterator[Row]:
    for entry in record["results"]["estimates"]:
        gigabytes = [entry["bytes"][part] / 1e9 for part in _MEMORY_PARTS]
        name = f"{entry['model']}, {entry['precision']}, {entry['devices']} devices"
        name = name.replace(" 1 devices", " 1 device")
        yield [
            name,
            f"{entry['row']} × {entry['row']}",
            *(f"{value:.1f}" for value in gigabytes),
            f"**{sum(gigabytes):.1f}**",
            _ratio(entry),
        ]


def _ratio(entry: Mapping[str, Any]) -> str | None:
    return f"{entry['compiled'] / entry['estimated']:.2f}" if entry.get("compiled") else None


def _range(values: Sequence[float]) -> str:
    likely, cautious = (_rounded(value) for value in values)
    return f"{likely} to {cautious}"


def _rounded(value: float) -> str:
    """Formats a projected figure to two digits."""
    if value >= 100:
        digits = len(str(int(value))) - 2
        return f"{round(value, -digits):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
