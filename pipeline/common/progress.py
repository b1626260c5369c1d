"""Progress of a stage: a bar on a terminal, two plain lines elsewhere.

Beam's in-process runner blocks and reports nothing meanwhile, so a thread looks for the report
files that finished blocks leave. A look is one listing of a folder, wherever it is.
"""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

from absl import logging

_SECONDS_BETWEEN_LOOKS = 0.5


class Work(Protocol):
    """A block of some kind: its name once it is finished, and its lines."""

    @property
    def name(self) -> str:
        """Returns what `finished` calls it."""

    @property
    def lines(self) -> int:
        """Returns how many lines it has."""


class Progress:
    """A context manager around the run of a stage."""

    def __init__(self, verb: str, blocks: Sequence[Work], finished: Callable[[], set[str]]) -> None:
        """Prepares to follow `blocks` until `finished` names each."""
        self._verb = verb
        self._blocks = list(blocks)
        self._finished = finished
        self._lines = sum(block.lines for block in blocks)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> "Progress":
        self._start = time.monotonic()
        if sys.stderr.isatty():
            self._thread.start()
        else:
            logging.info("%s: %d lines in %d blocks", self._verb, self._lines, len(self._blocks))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        elif kind is None:
            seconds = time.monotonic() - self._start
            rate = self._lines / max(seconds, 1e-9)
            logging.info("%s: done in %.1f s, %.0f lines/s", self._verb, seconds, rate)

    def _follow(self) -> None:
        from tqdm import tqdm

        waiting = {block.name: block.lines for block in self._blocks}
        with tqdm(total=self._lines, desc=self._verb, unit=" lines", unit_scale=True) as bar:
            while waiting:
                over = self._is_over.wait(_SECONDS_BETWEEN_LOOKS)
                done = waiting.keys() & self._finished()
                bar.update(sum(waiting.pop(name) for name in done))
                if over:
                    break
