import io
import sys

import pytest

from pipeline.common import meter
from pipeline.common.meter import Meter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_progress_is_plain_lines(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter, "_SECONDS_BETWEEN_LINES", -1.0)
    caplog.set_level("INFO")
    with Meter("x.tgz", 4_000_000, 1_000_000) as counting:
        counting.add(2_000_000)
        counting.add(1_000_000)
    counts = ["start, 1.0", "running, 3.0", "running, 4.0", "done, 4.0"]
    for record, count in zip(caplog.records, counts, strict=True):
        assert record.getMessage().startswith(f"Download x.tgz: {count} of 4.0 MB, ")


def test_a_transfer_that_breaks_off_is_not_called_done(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with pytest.raises(ConnectionError), Meter("x.tgz", None, 0):
        raise ConnectionError
    assert "stopped, 0.0 of ? MB" in caplog.text


def test_on_a_terminal_progress_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with Meter("x.tgz", 4_000_000, 1_000_000) as counting:
        counting.add(3_000_000)
    assert "x.tgz: 100%" in terminal.getvalue() and "4.00M/4.00M" in terminal.getvalue()
