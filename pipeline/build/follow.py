"""Progress of the job, from the reports that its workers leave.

No two engines tell a driver alike how far they are, and Beam's in-process runner tells nothing
before its end. So a thread looks at the folder of reports of one verb at a time, which has one name
for each finished block.
"""

import contextlib
import json
import math
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from absl import logging

from pipeline.blocks.count_block import group_size
from pipeline.blocks.inventory import STATUS, VERBS
from pipeline.common import storage
from pipeline.common.progress import Progress

_SECONDS_BETWEEN_LOOKS = {False: 0.5, True: 5.0}  # by whether the folder is in an object store


@contextlib.contextmanager
def follow_job(work: str, inputs: int, block_lines: int) -> Iterator[None]:
    """Shows the progress of a job while it runs.

    Args:
        work: folder of the run's work.
        inputs: number of inputs that the job reads.
        block_lines: lines of a block, unless it is the last of an input.
    """
    storage.delete(f"{work}/{STATUS}")  # of an earlier run
    follower = _Follower(work, inputs, block_lines)
    thread = threading.Thread(target=follower.follow, daemon=True)
    thread.start()
    try:
        yield
        follower.state = "done"
    finally:
        follower.is_over.set()
        thread.join()


class _Follower:
    """Shows one verb after the other until the job is over.

    state: how the job ended.
    """

    def __init__(self, work: str, inputs: int, block_lines: int) -> None:
        self._work = work
        self._inputs = inputs
        self._block_lines = block_lines
        self._seconds = _SECONDS_BETWEEN_LOOKS[storage.is_url(work)]
        self.is_over = threading.Event()
        self.state = "stopped"

    def follow(self) -> None:
        """Shows the progress of reading, then of each verb."""
        progress = Progress("ReadBlocks", total=self._inputs, unit="inputs")
        path = f"{self._work}/{STATUS}"
        while not storage.is_file(path) and not self.is_over.wait(self._seconds):
            pass
        if not storage.is_file(path):
            progress.close("stopped")
            return
        progress.advance(self._inputs)
        progress.close()
        status = json.loads(storage.read(path))
        for remark in status["remarks"]:
            logging.warning("%s", remark)
        for number, verb in enumerate(VERBS):
            if self._wait_for_first(VERBS[number:]) == verb:
                self._follow_verb(verb, **self._expect(verb, status))

    def _wait_for_first(self, verbs: tuple[str, ...]) -> str | None:
        """Returns the first of these verbs that has a report; None if the job ends without."""
        while True:
            is_over = self.is_over.is_set()  # before looking, so that nothing is missed
            for verb in verbs:
                if self._finished(verb):
                    return verb
            if is_over:
                return None
            self.is_over.wait(self._seconds)

    def _follow_verb(self, verb: str, *, lines: int, reports: int, lines_per_report: int) -> None:
        done = min(lines, self._finished(verb) * lines_per_report)
        progress = Progress(verb, total=lines, done=done, unit="lines")
        while self._finished(verb) < reports and not self.is_over.wait(self._seconds):
            now = min(lines, self._finished(verb) * lines_per_report)
            progress.advance(now - done)
            done = now
        is_done = self._finished(verb) >= reports or self.state == "done"
        progress.advance(lines - done if is_done else 0)
        progress.close("done" if is_done else "stopped")

    def _finished(self, verb: str) -> int:
        names = storage.entries(f"{self._work}/done/{verb}")
        return sum(name.endswith(".json") for name in names)

    def _expect(self, verb: str, status: Mapping[str, Any]) -> dict[str, int]:
        """Returns the lines and the reports of a verb in all."""
        lines, blocks = status["lines"], status["blocks"]
        if verb == "CountWords":
            size = group_size(blocks["train"], self._block_lines)
            return {
                "lines": lines["train"],
                "reports": math.ceil(blocks["train"] / size),
                "lines_per_report": size * self._block_lines,
            }
        return {
            "lines": sum(lines.values()),
            "reports": sum(blocks.values()),
            "lines_per_report": self._block_lines,
        }
