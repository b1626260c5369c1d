"""Tables of serving: many clients at once."""

from collections.abc import Iterator

from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import (
    Row,
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
