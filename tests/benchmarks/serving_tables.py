"""Tables of serving: many clients, exports for small machines, one sentence."""

import statistics
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
    """Returns size, memory and times of exported models, by format.

    Times are ratios: the processes were measured one after another, beside other work.
    """
    header = ["machine", "model", "format", "files, MB", "MiB at rest", "MiB at peak"]
    header += ["a sentence, ratio to the first format", "first sentence, in sentences", "record"]
    return from_records("small_machines", header, _machine_rows, command_for("small_machines"))


def _machine_rows(record: Record) -> Iterator[Row]:
    for model, formats in record["results"]["models"].items():
        baseline = next(iter(formats.values()))["p50_milliseconds"]
        for form, measured in formats.items():
            median = measured["p50_milliseconds"]
            yield [
                machine_name(record),
                model,
                form,
                f"{measured['bytes'] / 1e6:.1f}",
                format_figure(measured["at_rest_mib"]),
                format_figure(measured["peak_mib"]),
                f"{median / baseline:.2f}",
                format_figure(measured["first_milliseconds"] / median),
                record_link(record),
            ]


def sentence_latency() -> str:
    """Returns operations and processor time of one sentence, as ratios to the first model."""
    header = ["machine", "graph", "operations", "one sentence, ratio", "64 sentences, ratio"]
    command = "python -m tests.benchmarks.sentence_latency --help"
    return from_records("sentence_latency", [*header, "record"], _latency_rows, command)


def _latency_rows(record: Record) -> Iterator[Row]:
    models = record["results"]["models"]
    baseline = next(iter(models.values()))
    for name, measured in models.items():
        ratios = [
            statistics.median(
                taken / before for taken, before in zip(measured[kind], baseline[kind], strict=True)
            )
            for kind in ("alone", "together")
        ]
        operations, *times = f"{measured['operations']:,}", *(f"{ratio:.2f}" for ratio in ratios)
        yield [machine_name(record), name, operations, *times, record_link(record)]
