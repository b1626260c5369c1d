"""Table of the host's time between updates."""

import statistics
from collections.abc import Iterator

from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import (
    Row,
    format_figure,
    from_records,
    machine_name,
    record_link,
)

_COMMAND = (
    "python -m tests.benchmarks.host_time --output=tests/benchmarks/results/host_time.json"
    " && python -m tests.benchmarks.tables"
)


def host_time() -> str:
    """Returns milliseconds per update of a model that computes no gradients."""
    header = ["machine", "replicas", "updates per call", "ms/update", "of Python, ms/update"]
    return from_records("host_time", [*header, "record"], _rows, _COMMAND)


def _rows(record: Record) -> Iterator[Row]:
    for run in record["results"]["runs"]:
        yield [
            machine_name(record),
            run["replicas"],
            run["updates_per_call"],
            format_figure(statistics.median(run["milliseconds"])),
            format_figure(statistics.median(run["python_milliseconds"])),
            record_link(record),
        ]
