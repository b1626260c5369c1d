"""Progress of long work: a bar on a terminal, log lines elsewhere; with rate and time left."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol

from absl import logging

_BYTES = "B"
_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_BETWEEN_BAR_UPDATES = 0.5


class Progress:
    """Progress display: a bar on a terminal, log lines elsewhere.

    It starts when created and ends when closed, as a context manager or by `close`.

    Example:
        >>> with Progress("Download", total=4_000_000, unit="B") as progress:
        ...     progress.advance(2_000_000)
        Download: start, 0.0 of 4.0 MB
        Download: done, 2.0 of 4.0 MB, 9.1 MB/s
    """

    def __init__(
        self,
        name: str,
        *,
        unit: str,
        total: int | None = None,
        done: int = 0,
        seconds_between_lines: float = _SECONDS_BETWEEN_LINES,
    ) -> None:
        """Shows the start.

        Args:
            name: the work, such as "Train"; every line starts with it.
            unit: what is counted, a plural such as "lines"; "B" for bytes, shown as MB.
            total: units of the whole work; None if unknown.
            done: units that earlier sessions did; they do not count for the rate.
            seconds_between_lines: least time between log lines of `advance`.
        """
        self._name, self._unit, self._total = name, unit, total
        self._done = self._done_before = done
        self._seconds_between_lines = seconds_between_lines
        self._start = self._last_line = time.monotonic()
        self._bar = self._make_bar() if sys.stderr.isatty() else None
        if self._bar is None:
            self._log("start", self._count())

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close("done" if kind is None else "stopped")

    @property
    def seconds_between_updates(self) -> float:
        """Seconds between changes of the display, for callers that poll."""
        return self._seconds_between_lines if self._bar is None else _SECONDS_BETWEEN_BAR_UPDATES

    def advance(self, count: int = 1) -> None:
        """Counts finished units."""
        self._done += count
        if self._bar is not None:
            self._bar.update(count)
        elif time.monotonic() - self._last_line > self._seconds_between_lines:
            self._log(self._count(), self._rate(), self._time_left())

    def report(self, figures: str) -> None:
        """Shows figures: after the bar, or as a log line."""
        if self._bar is not None:
            self._bar.set_postfix_str(figures)
        else:
            self._log(self._count(), figures, self._time_left())

    def close(self, state: str = "done") -> None:
        """Shows the end; the bar stays where it is."""
        if self._bar is not None:
            self._bar.close()
        else:
            self._log(state, self._count(), self._rate())

    def _make_bar(self) -> Any:
        from tqdm import tqdm

        return tqdm(
            desc=self._name,
            total=self._total,
            initial=self._done,
            unit=self._unit if self._unit == _BYTES else f" {self._unit}",
            unit_scale=self._unit == _BYTES,
            dynamic_ncols=True,
        )

    def _log(self, *parts: str) -> None:
        self._last_line = time.monotonic()
        logging.info("%s: %s", self._name, ", ".join(filter(None, parts)))

    def _count(self) -> str:
        """Returns such as "60 of 100 steps"."""
        if self._unit == _BYTES:
            total = "?" if self._total is None else f"{self._total / 1e6:,.1f}"
            return f"{self._done / 1e6:,.1f} of {total} MB"
        total = "" if self._total is None else f" of {self._total:,}"
        return f"{self._done:,}{total} {self._unit}"

    def _rate(self) -> str:
        """Returns such as "3,500 lines/s", of this session."""
        rate = (self._done - self._done_before) / max(self._elapsed(), 1e-9)
        if self._unit == _BYTES:
            return f"{rate / 1e6:,.1f} MB/s"
        return f"{rate:,.{0 if rate >= 10 else 2}f} {self._unit}/s"

    def _time_left(self) -> str:
        """Returns such as "1m20s left"; nothing before there is a rate."""
        progress = self._done - self._done_before
        if self._total is None or not progress:
            return ""
        left = self._elapsed() / progress * (self._total - self._done)
        return f"{format_duration(left)} left"

    def _elapsed(self) -> float:
        return time.monotonic() - self._start


class Work(Protocol):
    """A block of lines: its name once it is finished, and its size."""

    @property
    def name(self) -> str:
        """Returns what `finished` calls it."""

    @property
    def lines(self) -> int:
        """Returns how many lines it has."""


@contextlib.contextmanager
def follow_blocks(
    name: str, blocks: Sequence[Work], finished: Callable[[], set[str]]
) -> Iterator[None]:
    """Shows the progress of blocks while an engine processes them.

    Beam's in-process runner reports nothing until it ends, so a thread polls for the files of
    finished blocks. Each poll lists one folder.

    Args:
        name: the work, such as "CleanPairs".
        blocks: the blocks to process.
        finished: returns the names of finished blocks, these or others.
    """
    waiting = {block.name: block.lines for block in blocks}
    is_over = threading.Event()

    def poll(progress: Progress) -> None:
        while not is_over.wait(progress.seconds_between_updates):
            for block in waiting.keys() & finished():
                progress.advance(waiting.pop(block))

    with Progress(name, total=sum(waiting.values()), unit="lines") as progress:
        thread = threading.Thread(target=poll, args=(progress,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
        progress.advance(sum(waiting.values()))  # since the last poll


def format_duration(seconds: float) -> str:
    """Formats seconds for people: 75 is "1m15s", 7260 "2h01m"."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02d}m"
    return f"{minutes}m{seconds:02d}s" if minutes else f"{seconds}s"


def format_bytes(size: float) -> str:
    """Formats a size for people: 1695017123 is "1.7 GB", 38654961 "38.7 MB"."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
