"""Tables of serving: many clients at once, and exports for small machines."""

from collections.abc import Iterator

from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import (
    Row,
    command_for,
    format_figure,
    from_records,
    machine_name,
    record_link,
)

_LOAD = (
    "python -m tests.benchmarks.serving_load --saved_model=exported/translator/1"
    " --output=tests/benchmarks/results/serving_load.json && python -m tests.benchmarks.tables"
)


def serving_load() -> str:
    """Returns what clients of one SavedModel saw, and the server's memory."""
    header = ["machine", "clients", "requests", "right", "wrong", "refused", "texts/s"]
    header += ["p50 / p95 / p99, ms", "resident MiB at the start", "after a tenth", "at the end"]
    return from_records("serving_load", [*header, "record"], _load_rows, _LOAD)


def _load_rows(record: Record) -> Iterator[Row]:
    results = record["results"]
    verdicts, memory = results["verdicts"], results["memory_mib"]
    times = results["milliseconds"].values()
    yield [
        machine_name(record),
        record["flags"]["clients"],
        f"{record['flags']['requests']:,}",
        *(f"{verdicts.get(verdict, 0):,}" for verdict in ("right", "wrong", "refused")),
        format_figure(results["texts_per_second"]),
        " / ".join(f"{figure:.0f}" for figure in times),
        *(format_figure(memory[place]) for place in (0, 1, -1)),
        record_link(record),
    ]


def small_machines() -> str:
    """Returns size, memory and times of exported models, by format."""
    header = ["machine", "model", "format", "files, MB", "MiB at rest", "MiB at peak", "load, s"]
    header += ["first request, ms", "p50 / p95, ms", "record"]
    return from_records("small_machines", header, _machine_rows, command_for("small_machines"))


def _machine_rows(record: Record) -> Iterator[Row]:
    for model, formats in record["results"]["models"].items():
        for form, measured in formats.items():
            p50, p95 = measured["p50_milliseconds"], measured["p95_milliseconds"]
            yield [
                machine_name(record),
                model,
                form,
                f"{measured['bytes'] / 1e6:.1f}",
                format_figure(measured["at_rest_mib"]),
                format_figure(measured["peak_mib"]),
                f"{measured['load_seconds']:.1f}",
                format_figure(measured["first_milliseconds"]),
                f"{p50:.1f} / {p95:.1f}",
                record_link(record),
            ]
