"""metrics.jsonl is read whatever a power cut has left in it."""

from pathlib import Path

import pytest

from trainer.runs.metrics_log import append_row, drop_rows_after, read_metric, read_metrics

# What is no row: bytes of no text, of another file, cut off, and JSON of another form.
DAMAGED = [
    b'\xff\xfe{"step": 4',
    b"\x00\x00\x00\x00",
    b'{"step": 3, "train/lo',
    b"[]",
    b"7",
    b"{}",
    b'{"step": "3", "train/loss": 1.0}',
    b'{"step": true, "train/loss": 1.0}',
    b'{"step": 3, "train/loss": "low"}',
    b'{"step": 3, "train/loss": null}',
]


def test_a_metric_is_read_back_in_order(tmp_path: Path) -> None:
    assert read_metric(tmp_path, "dev/bleu") == []
    append_row(tmp_path, 1, {"dev/bleu": 3.0})
    append_row(tmp_path, 2, {"train/loss": 9.0})
    append_row(tmp_path, 4, {"dev/bleu": 5.0})
    assert read_metric(tmp_path, "dev/bleu") == [3.0, 5.0]
    assert read_metric(tmp_path, "dev/bleu", last_step=4) == [3.0, 5.0]
    assert read_metric(tmp_path, "dev/bleu", last_step=3) == [3.0]
    assert read_metrics(tmp_path) == {"dev/bleu": [(1, 3.0), (4, 5.0)], "train/loss": [(2, 9.0)]}


@pytest.mark.parametrize("line", DAMAGED)
@pytest.mark.parametrize("last", [False, True])
def test_a_damaged_line_is_skipped_with_one_warning_and_removed(
    tmp_path: Path, line: bytes, last: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "metrics.jsonl"
    append_row(tmp_path, 1, {"train/loss": 3.0})
    row = path.read_bytes()
    path.write_bytes(row + line if last else line + b"\n" + row)
    for _ in range(2):
        assert read_metrics(tmp_path) == {"train/loss": [(1, 3.0)]}
    drop_rows_after(tmp_path, 1)
    (record,) = caplog.records
    expected = f"{path}: skipped 1 damaged line(s), the first is line {2 if last else 1}"
    assert record.getMessage().startswith(expected)
    assert path.read_bytes() == row


def test_rows_of_later_steps_are_removed(tmp_path: Path) -> None:
    for step in (2, 4, 6):
        append_row(tmp_path, step, {"train/loss": 1.0})
    drop_rows_after(tmp_path, 4)
    assert [step for step, _ in read_metrics(tmp_path)["train/loss"]] == [2, 4]


def test_a_new_log_is_an_empty_file(tmp_path: Path) -> None:
    drop_rows_after(tmp_path, 0)
    assert (tmp_path / "metrics.jsonl").read_bytes() == b""
