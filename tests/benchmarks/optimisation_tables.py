"""Tables of what each change of the code gains, kept or rejected."""

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from tests.benchmarks.record import Record
from tests.benchmarks.record_tables import (
    Row,
    command_for,
    format_figure,
    from_records,
    machine_name,
    record_link,
)


def optimisations() -> str:
    """Returns what is gained by each optimisation that is in the code."""
    return _comparisons(kept=True)


def rejected() -> str:
    """Returns what would be gained by what was tried and is not in the code."""
    return _comparisons(kept=False)


def _comparisons(*, kept: bool) -> str:
    header = [
        "change",
        "machine",
        "workload",
        "with",
        "without",
        "ratio",
        "rounds: lowest, highest",
    ]
    header += ["rounds", "record"]

    def rows(record: Record) -> Iterator[Row]:
        for name, entry in record["results"].items():
            if entry["kept"] == kept:
                yield from _comparison_rows(name, entry, record)

    return from_records("optimisations", header, rows, command_for("optimisations"))


def _comparison_rows(name: str, entry: Mapping[str, Any], record: Record) -> Iterator[Row]:
    for workload, rounds in entry["workloads"].items():
        ratios = [w / wo for w, wo in zip(rounds["with"], rounds["without"], strict=True)]
        yield [
            name,
            machine_name(record),
            f"{workload}, {rounds['unit']}",
            *(format_figure(statistics.median(rounds[arm])) for arm in ("with", "without")),
            f"**{statistics.median(ratios):.2f}**",
            f"{min(ratios):.2f}, {max(ratios):.2f}",
            len(ratios),
            record_link(record),
        ]
