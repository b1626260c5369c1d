"""A stage: a function applied to every block, with a report on disk for each finished block.

A stage writes its files, then its report; a block that has a report is finished and is skipped by
the next run. A `UserError` inside a worker becomes the block's error file, which the driver raises
in block order: the message does not depend on which worker was first.

How blocks are mapped is the caller's choice (`BlockMapper`): `beam_pipeline.BeamMapper` runs them
on an engine of Beam's, a plain loop runs them in this process.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

from pipeline.common import storage
from pipeline.common.errors import FULL_DISK, TO_CONTINUE, ResumableError, UserError
from pipeline.common.progress import follow_blocks
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Unit


class Report(Protocol):
    """What a stage reports about a block, kept on disk as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Returns the report that `to_json` gave."""


_Report = TypeVar("_Report", bound=Report)
_SYSTEM_ERROR = re.compile(r"\[Errno (\d+)\] ([^\[\n]*)")


@dataclasses.dataclass(frozen=True)
class Stage(Generic[_Report]):
    """A function over blocks, the verb that names it, and the folder of its reports."""

    verb: str
    function: Callable[[Any], _Report]  # of a block, or of a group
    folder: str
    report_type: type[_Report]

    def report_path(self, block: Unit) -> str:
        """Returns the file whose existence means that the block is finished."""
        return f"{self.folder}/{block.name}.json"

    def error_path(self, block: Unit) -> str:
        """Returns the file that holds the message of a `UserError` in the block."""
        return f"{self.folder}/{block.name}.error"

    def finished(self) -> set[str]:
        """Returns the names of the finished blocks."""
        names = storage.entries(self.folder)
        return {name.removesuffix(".json") for name in names if name.endswith(".json")}

    def process(self, block: Unit) -> str:
        """Processes one block, unless it is finished, and returns its name."""
        if not storage.is_file(self.report_path(block)):
            try:
                report = self.function(block)
            except UserError as error:
                write_atomically(self.error_path(block), _error_to_json(error))
            else:
                write_atomically(self.report_path(block), json.dumps(report.to_json()).encode())
        return block.name


# Calls `Stage.process` on every block, once or more, anywhere and in any order.
BlockMapper = Callable[[Stage[Any], Sequence[Unit]], None]


def run_stage(
    stage: Stage[_Report], blocks: Sequence[Unit], map_blocks: BlockMapper
) -> list[_Report]:
    """Runs a stage over all blocks that lack a report; returns the reports in block order.

    Raises:
        UserError: a user's mistake in a block, the first one in block order.
        ResumableError: a full disk, or files that a worker cannot reach.
    """
    storage.make_folder(stage.folder)
    for name in storage.entries(stage.folder):
        if name.endswith(".error"):
            storage.delete(f"{stage.folder}/{name}")
    finished = stage.finished()
    waiting = [block for block in blocks if block.name not in finished]
    if waiting:
        with follow_blocks(stage.verb, waiting, stage.finished):
            try:
                map_blocks(stage, waiting)
            except (RuntimeError, OSError) as error:
                raise _explain(error, stage) from error
    return read_reports(stage, blocks)


def read_reports(stage: Stage[_Report], blocks: Sequence[Unit]) -> list[_Report]:
    """Returns the reports of finished blocks in order.

    Raises:
        UserError: the message of the first block that has an error file.
    """
    reports = []
    names = storage.entries(stage.folder)
    for block in blocks:
        error_path = stage.error_path(block)
        if error_path.removeprefix(f"{stage.folder}/") in names:
            raise _error_from_json(storage.read(error_path))
        values = json.loads(storage.read(stage.report_path(block)))
        reports.append(stage.report_type.from_json(values))
    return reports


def _error_to_json(error: UserError) -> bytes:
    is_resumable = isinstance(error, ResumableError)
    return json.dumps({"message": str(error), "is_resumable": is_resumable}).encode()


def _error_from_json(data: bytes) -> UserError:
    error = json.loads(data)
    return (ResumableError if error["is_resumable"] else UserError)(error["message"])


def _explain(error: Exception, stage: Stage[Any]) -> Exception:
    """Returns a worker's failure in a user's terms; most engines pass it on as text alone."""
    failure = _SYSTEM_ERROR.search(str(error))
    if failure is None:
        return error
    number, problem = int(failure[1]), failure[2].strip()
    if number in FULL_DISK:
        reason, _, path = problem.partition(": ")
        place = path.strip("'") or stage.folder
        return ResumableError(
            f"{stage.verb}: cannot write {place}: {reason}; free some space; {TO_CONTINUE}"
        )
    return ResumableError(
        f"{stage.verb}: {problem}; every worker must be able to read the inputs and to "
        f"write to {stage.folder}; {TO_CONTINUE}"
    )
