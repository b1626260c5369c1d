import json
import math
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from trainer.runs.metrics_writer import MetricsWriter


def rows_of(run_dir: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


def tensorboard_scalars(run_dir: Path) -> list[tuple[int, str, float]]:
    files = sorted(str(path) for path in (run_dir / "tensorboard").iterdir())
    events = [
        tf.compat.v1.Event.FromString(record)
        for record in tf.data.TFRecordDataset(files).as_numpy_iterator()
    ]
    return [
        (event.step, value.tag, float(tf.make_ndarray(value.tensor)))
        for event in events
        for value in event.summary.value
    ]


def test_a_row_holds_step_time_and_values(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path, 0)
    writer.write(3, {"train/loss": 2.5, "train/nll": 2.0})
    (row,) = rows_of(tmp_path)  # readable before the writer is closed
    assert abs(row.pop("time") - time.time()) < 60
    assert row == {"step": 3, "train/loss": 2.5, "train/nll": 2.0}


def test_a_row_has_numbers_alone(tmp_path: Path) -> None:
    MetricsWriter(tmp_path, 0).write(3, {"a": math.nan, "b": 2.0, "c": math.inf})
    (row,) = rows_of(tmp_path)
    assert row.keys() == {"step", "time", "b"}
    assert tensorboard_scalars(tmp_path) == [(3, "b", 2.0)]


def test_tensorboard_has_the_same_scalars(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path, 0)
    writer.write(3, {"train/loss": 2.5, "train/nll": 2.0})
    writer.write(9, {"dev/bleu": 31.25})
    assert tensorboard_scalars(tmp_path) == [
        (3, "train/loss", 2.5),
        (3, "train/nll", 2.0),
        (9, "dev/bleu", 31.25),
    ]


def test_rows_past_the_resumed_step_are_dropped(tmp_path: Path) -> None:
    first = MetricsWriter(tmp_path, 0)
    for step in (2, 4, 6):
        first.write(step, {"train/loss": float(step)})
    resumed = MetricsWriter(tmp_path, 4)
    resumed.write(6, {"train/loss": -6.0})
    assert [(row["step"], row["train/loss"]) for row in rows_of(tmp_path)] == [
        (2, 2.0),
        (4, 4.0),
        (6, -6.0),
    ]


def test_tables_and_pictures_go_to_tensorboard(tmp_path: Path) -> None:
    writer = MetricsWriter(tmp_path, 0)
    picture = np.arange(6, dtype=np.uint8).reshape(1, 2, 3, 1)
    writer.write_table(7, "samples", ["source", "target"], [["a | <b> *c*", "d"]])
    writer.write_image(7, "attention", picture)
    writer.write(7, {"loss": 1.0})
    (path,) = (tmp_path / "tensorboard").iterdir()
    values = {
        value.tag: value.tensor.string_val
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
    }
    assert values["samples"][0].decode().splitlines() == [
        "source | target",
        "--- | ---",
        "a \\| &lt;b&gt; \\*c\\* | d",
    ]
    width, height, png = values["attention"]
    assert (int(width), int(height)) == (3, 2)
    np.testing.assert_array_equal(tf.io.decode_png(png), picture[0])


def test_a_run_that_begins_again_keeps_no_evaluation_of_step_0(tmp_path: Path) -> None:
    MetricsWriter(tmp_path, 0).write(0, {"dev/bleu": 2.0})
    MetricsWriter(tmp_path, 0)
    assert rows_of(tmp_path) == []
    MetricsWriter(tmp_path, 0).write(0, {"dev/bleu": 2.0})
    MetricsWriter(tmp_path, 5)  # resumed after 5 updates
    assert [row["step"] for row in rows_of(tmp_path)] == [0]
