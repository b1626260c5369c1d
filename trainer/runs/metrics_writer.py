"""Writing the metrics of a run: to `metrics.jsonl` and to TensorBoard."""

import html
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from trainer.runs.metrics_log import append_row, drop_rows_after


class MetricsWriter:
    """Appends the same scalars to `run_dir/metrics.jsonl` and to TensorBoard.

    Rows of later steps than `first_step`, from a killed session, are removed first, so that
    `metrics.jsonl` contains each step once. TensorBoard's own files are not changed.
    """

    def __init__(self, run_dir: Path, first_step: int) -> None:
        """Prepares both for a session that continues after `first_step` updates."""
        self._run_dir = run_dir
        # Before the first update there is at most an evaluation, which is then made again.
        drop_rows_after(run_dir, first_step or -1)
        self._summaries = tf.summary.create_file_writer(str(run_dir / "tensorboard"))

    def write(self, step: int, values: dict[str, float]) -> None:
        """Writes one row; non-finite values are skipped, because JSON cannot represent them."""
        values = {name: value for name, value in values.items() if math.isfinite(value)}
        append_row(self._run_dir, step, values)
        with self._summaries.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)

    def write_table(
        self, step: int, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> None:
        """Writes rows of text, under the names of their columns, to TensorBoard."""
        lines = [" | ".join(columns), " | ".join("---" for _ in columns)]
        lines += [" | ".join(map(_escape, row)) for row in rows]
        with self._summaries.as_default(step=step):
            tf.summary.text(name, "\n".join(lines))

    def write_image(self, step: int, name: str, image: np.ndarray) -> None:
        """Writes a picture, uint8 `[1, height, width, 1]`, to TensorBoard."""
        with self._summaries.as_default(step=step):
            tf.summary.image(name, image)


def _escape(cell: str) -> str:
    """Escapes Markdown and HTML in a table cell."""
    return html.escape(re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", cell))
