"""The metrics log of a run: `metrics.jsonl` and TensorBoard."""

import html
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from pipeline.common.storage import write_atomically


class MetricsWriter:
    """Appends the same scalars to `run_dir/metrics.jsonl` and to TensorBoard.

    Rows of later steps than `first_step`, from a killed session, are removed first, so that
    `metrics.jsonl` contains each step once. TensorBoard's own files are not changed.
    """

    def __init__(self, run_dir: Path, first_step: int) -> None:
        """Prepares both for a session that continues after `first_step` updates."""
        self._path = run_dir / "metrics.jsonl"
        self._path.touch()
        self._drop_after(first_step)
        self._summaries = tf.summary.create_file_writer(str(run_dir / "tensorboard"))

    def write(self, step: int, values: dict[str, float]) -> None:
        """Writes one row: `step`, `time` in seconds since 1970, and `values` by name.

        Non-finite values are skipped, because JSON cannot represent them.
        """
        values = {name: value for name, value in values.items() if math.isfinite(value)}
        row = {"step": step, "time": round(time.time(), 3), **values}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        with self._summaries.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)

    def write_table(self, step: int, name: str, rows: Sequence[Mapping[str, str]]) -> None:
        """Writes rows of text by column to TensorBoard."""
        lines = [" | ".join(rows[0]), " | ".join("---" for _ in rows[0])]
        lines += [" | ".join(_escape(cell) for cell in row.values()) for row in rows]
        with self._summaries.as_default(step=step):
            tf.summary.text(name, "\n".join(lines))

    def write_image(self, step: int, name: str, image: np.ndarray) -> None:
        """Writes a picture, uint8 `[1, height, width, 1]`, to TensorBoard."""
        with self._summaries.as_default(step=step):
            tf.summary.image(name, image)

    def _drop_after(self, step: int) -> None:
        lines = self._path.read_text("utf-8").splitlines()
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step]
        write_atomically(str(self._path), "".join(f"{line}\n" for line in kept).encode())


def read_metric(run_dir: Path, name: str, *, last_step: int | None = None) -> list[float]:
    """Returns the values of one metric in `metrics.jsonl`, in order, up to `last_step`."""
    points = read_metrics(run_dir).get(name, [])
    return [value for step, value in points if last_step is None or step <= last_step]


def read_metrics(run_dir: Path) -> dict[str, list[tuple[int, float]]]:
    """Returns every metric of `metrics.jsonl` by name, as pairs (step, value) in order."""
    path = run_dir / "metrics.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    metrics: dict[str, list[tuple[int, float]]] = {}
    for row in (json.loads(line) for line in lines if line.endswith("}")):
        for name in row.keys() - {"step", "time"}:
            metrics.setdefault(name, []).append((row["step"], row[name]))
    return metrics


def _escape(cell: str) -> str:
    """Escapes Markdown and HTML in a table cell."""
    return html.escape(re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", cell))
