"""Progress of a transfer in bytes: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from types import TracebackType
from typing import Any

from absl import logging

_SECONDS_BETWEEN_LINES = 30.0


class Meter:
    """A context manager around a transfer; `add` is called with each number of bytes."""

    def __init__(self, name: str, total: int | None, start: int) -> None:
        """Prepares to count from `start` to `total` bytes, None if nobody knows it."""
        self._name = name
        self._total = total
        self._count = self._start = start
        self._bar: Any = None

    def __enter__(self) -> "Meter":
        self._begin = self._last = time.monotonic()
        if sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                desc=self._name, total=self._total, initial=self._start, unit="B", unit_scale=True
            )
        else:
            self._log("start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        else:
            self._log("done" if kind is None else "stopped")

    def add(self, count: int) -> None:
        """Counts `count` more bytes."""
        self._count += count
        if self._bar is not None:
            self._bar.update(count)
        elif time.monotonic() - self._last > _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            self._log("running")

    def _log(self, state: str) -> None:
        total = "?" if self._total is None else f"{self._total / 1e6:.1f}"
        seconds = max(time.monotonic() - self._begin, 1e-9)
        rate = (self._count - self._start) / 1e6 / seconds
        megabytes = f"{self._count / 1e6:.1f} of {total} MB"
        logging.info("Download %s: %s, %s, %.1f MB/s", self._name, state, megabytes, rate)
