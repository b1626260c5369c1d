"""The metrics log of a run, `metrics.jsonl`: one JSON object per line, free of TensorFlow.

A row holds `step`, `time` in seconds since 1970, and values by name. A power cut may leave anything
in the file: lines that are not rows are skipped with a warning.
"""

import functools
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from absl import logging

from pipeline.common.storage import write_atomically

_NOT_METRICS = {"step", "time"}


class _Row(NamedTuple):
    """A line of the file and its content."""

    line: bytes
    values: dict[str, float]


def append_row(run_dir: Path, step: int, values: Mapping[str, float]) -> None:
    """Appends a row; the values must be finite, because JSON cannot represent others."""
    row = {"step": step, "time": round(time.time(), 3), **values}
    with _path(run_dir).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def drop_rows_after(run_dir: Path, step: int) -> None:
    """Removes the rows of later steps and the damaged lines; creates the file if it is missing."""
    lines = [row.line + b"\n" for row in _read_rows(run_dir) if row.values["step"] <= step]
    write_atomically(str(_path(run_dir)), b"".join(lines))


def read_metric(run_dir: Path, name: str, *, last_step: int | None = None) -> list[float]:
    """Returns the values of one metric, in order, up to `last_step`."""
    points = read_metrics(run_dir).get(name, [])
    return [value for step, value in points if last_step is None or step <= last_step]


def read_dev_scores(run_dir: Path, *, last_step: int | None = None) -> list[float]:
    """Returns what evaluations on dev are compared by, in order: F1 of a parser, else BLEU."""
    f1, bleu = (read_metric(run_dir, f"dev/{name}", last_step=last_step) for name in ("f1", "bleu"))
    return f1 or bleu


def read_metrics(run_dir: Path) -> dict[str, list[tuple[int, float]]]:
    """Returns every metric by name, as pairs (step, value) in order."""
    metrics: dict[str, list[tuple[int, float]]] = {}
    for _, values in _read_rows(run_dir):
        for name in values.keys() - _NOT_METRICS:
            metrics.setdefault(name, []).append((int(values["step"]), values[name]))
    return metrics


def _read_rows(run_dir: Path) -> list[_Row]:
    """Reads the rows; warns of damaged lines."""
    path = _path(run_dir)
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    parsed = [(number, line, _parse(line)) for number, line in enumerate(lines, 1) if line]
    damaged = [number for number, _, values in parsed if values is None]
    if damaged:
        _warn_once(path, damaged[0], len(damaged))
    return [_Row(line, values) for _, line, values in parsed if values is not None]


@functools.cache  # several readers of one command find the same lines
def _warn_once(path: Path, first: int, count: int) -> None:
    logging.warning(
        "%s: skipped %d damaged line(s), the first is line %d: expected JSON objects with a step "
        "and numbers; a power cut or an edit leaves others",
        path,
        count,
        first,
    )


def _parse(line: bytes) -> dict[str, float] | None:
    """Returns the values of a row; None if the line is not a row."""
    try:
        values = json.loads(line)
    except ValueError:
        return None
    is_row = isinstance(values, dict) and type(values.get("step")) is int
    return values if is_row and all(map(_is_number, values.values())) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _path(run_dir: Path) -> Path:
    return run_dir / "metrics.jsonl"
