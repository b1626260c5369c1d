import io
import sys
import time
from typing import NamedTuple

import pytest

from pipeline.common.progress import Progress, follow_blocks, format_duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replaces standard error; not a fixture, because pytest replaces it before each test."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")


class Block(NamedTuple):
    name: str
    lines: int


BLOCKS = [Block("a", 10), Block("b", 20), Block("c", 30)]


def test_without_a_terminal_progress_is_plain_lines(caplog: pytest.LogCaptureFixture) -> None:
    with Progress(
        "Download x.tgz", unit="B", total=4_000_000, done=1_000_000, seconds_between_lines=-1
    ) as progress:
        progress.advance(2_000_000)
        progress.advance(1_000_000)
    counts = ["start, 1.0 of 4.0 MB", "3.0 of 4.0 MB, ", "4.0 of 4.0 MB, ", "done, 4.0 of 4.0 MB, "]
    for record, count in zip(caplog.records, counts, strict=True):
        assert record.getMessage().startswith(f"Download x.tgz: {count}")


def test_lines_are_not_written_too_often(caplog: pytest.LogCaptureFixture) -> None:
    with Progress("Clean", unit="lines", total=5) as progress:
        for _ in range(5):
            progress.advance()
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "Clean: start",
        "Clean: done",
    ]


def test_work_that_breaks_off_is_not_called_done(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConnectionError), Progress("Download x.tgz", unit="B"):
        raise ConnectionError
    assert "stopped, 0.0 of ? MB" in caplog.text


def test_the_rate_and_the_time_left_are_of_this_session(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 updates in 20 seconds leave 80 for the other 40."""
    seconds = 100.0
    monkeypatch.setattr("pipeline.common.progress.time.monotonic", lambda: seconds)
    progress = Progress("Train", unit="steps", total=100, done=50)
    seconds = 120.0
    progress.advance(10)
    progress.report("loss 2.500")
    progress.close()
    assert "Train: 60 of 100 steps, loss 2.500, 1m20s left" in caplog.text
    assert "Train: done, 60 of 100 steps, 0.50 steps/s" in caplog.text


def test_before_anything_is_done_the_time_left_is_unknown(caplog: pytest.LogCaptureFixture) -> None:
    Progress("Train", unit="steps", total=100, done=50).report("loss 9.000")
    assert "Train: 50 of 100 steps, loss 9.000" in caplog.text
    assert "left" not in caplog.text


def test_a_total_may_be_unknown(caplog: pytest.LogCaptureFixture) -> None:
    with Progress("Translate", unit="lines", seconds_between_lines=-1) as progress:
        progress.advance(1_234)
    assert "Translate: 1,234 lines, " in caplog.text
    assert "left" not in caplog.text


def test_on_a_terminal_progress_is_a_bar(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    terminal = use_terminal(monkeypatch)
    with Progress("Download x.tgz", unit="B", total=4_000_000, done=1_000_000) as progress:
        progress.advance(3_000_000)
        progress.report("almost")
    shown = terminal.getvalue()
    assert "x.tgz: 100%" in shown and "4.00M/4.00M" in shown and "almost" in shown
    assert caplog.text == ""


def test_a_bar_counts_other_things_than_bytes_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    with Progress("Clean", unit="lines", total=50_000) as progress:
        progress.advance(20_000)
    assert "20000/50000" in terminal.getvalue() and "lines/s" in terminal.getvalue()


def test_blocks_are_followed_by_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar moves while the work goes on, by the lines of the blocks that are finished."""
    terminal = use_terminal(monkeypatch)
    finished = {"a", "another"}
    with follow_blocks("Clean", BLOCKS, lambda: finished):
        for _ in range(1_000):
            if "10/60" in terminal.getvalue():
                break
            time.sleep(0.01)
        assert "10/60" in terminal.getvalue() and "60/60" not in terminal.getvalue()
    assert "60/60" in terminal.getvalue()


def test_blocks_that_were_not_seen_to_finish_are_counted_at_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with follow_blocks("Clean", BLOCKS, set):
        pass
    assert "Clean: start, 0 of 60 lines" in caplog.text
    assert "Clean: done, 60 of 60 lines, " in caplog.text


def test_blocks_of_work_that_fails_are_not_counted(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RuntimeError), follow_blocks("Clean", BLOCKS, set):
        raise RuntimeError
    assert "Clean: stopped, 0 of 60 lines" in caplog.text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (75, "1m15s"),
        (3599, "59m59s"),
        (7260, "2h01m"),
        (360_000, "100h00m"),
    ],
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
