"""Markdown tables of benchmark records, and what their cells have in common."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from tests.benchmarks.record import Record, read_records

Row = Sequence[object]


def markdown(header: Sequence[str], rows: Sequence[Row]) -> str:
    """Returns a table; an empty cell is None."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(
        f"| {' | '.join('' if cell is None else str(cell) for cell in line)} |\n" for line in lines
    )


def from_records(
    benchmark: str,
    header: Sequence[str],
    make_rows: Callable[[Record], Iterator[Row]],
    command: str | None = None,
) -> str:
    """Returns a table of all records of a benchmark, or the command that would make one."""
    rows = [row for record in records_of(benchmark) for row in make_rows(record)]
    if not rows:
        return f"No record yet: `{command or f'python -m tests.benchmarks.{benchmark} --help'}`\n"
    return markdown(header, rows)


def records_of(benchmark: str) -> list[Record]:
    """Returns the committed records of a benchmark."""
    return [record for record in read_records() if record["benchmark"] == benchmark]


def command_for(benchmark: str) -> str:
    """Returns the command that makes the record of a benchmark and then the tables."""
    output = f"tests/benchmarks/results/{benchmark}.json"
    return (
        f"python -m tests.benchmarks.{benchmark} --work_dir=/tmp/benchmark --output={output}"
        " && python -m tests.benchmarks.tables"
    )


def machine_name(record: Record) -> str:
    """Names the machine that a record was made on."""
    machine = record["machine"]
    return f"{machine['cores']} × {machine['processor']}, {machine['instructions']}"


def record_link(record: Record) -> str:
    """Links to a record, by its commit, from a document in tests/benchmarks."""
    return f"[{record['commit']}](results/{record['file']})"


def format_figure(value: float | None) -> str | None:
    """Formats a positive figure to about three digits, thousands with commas."""
    if value is None:
        return None
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def median_of(rounds: Sequence[Mapping[str, float]], figure: str) -> float:
    """Returns the median of one figure over the rounds."""
    return statistics.median(measured[figure] for measured in rounds)
