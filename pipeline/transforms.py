"""Stages over all blocks, as Beam pipelines: one short linear chain each, outputs named by block.

A stage writes its files, then its report; a block with a report is finished and is not done
again. A user's mistake found inside a worker becomes the block's error file, which the driver
raises in block order: the message does not depend on which worker was first.
"""

import dataclasses
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.corpora import Block
from pipeline.errors import UserError
from pipeline.progress import Progress
from pipeline.runners import make_runner, run_to_end
from pipeline.schema import write_atomically
from pipeline.stages import Report


@dataclasses.dataclass(frozen=True)
class Stage:
    """A function over blocks, the verb it is known by, and the folder of its reports."""

    verb: str
    function: Callable[[Block], Report]
    folder: str

    def report_path(self, block: Block) -> str:
        """Returns the file whose existence means that the block is finished."""
        return f"{self.folder}/{block.name}.json"

    def error_path(self, block: Block) -> str:
        """Returns the file that holds the message of a user's mistake in the block."""
        return f"{self.folder}/{block.name}.error"

    def is_done(self, block: Block) -> bool:
        """Returns whether a worker has finished the block."""
        return os.path.exists(self.report_path(block))

    def process(self, block: Block) -> str:
        """Processes one block, unless it is finished, and returns its name."""
        if not self.is_done(block):
            try:
                report = self.function(block)
            except UserError as error:
                write_atomically(self.error_path(block), str(error).encode())
            else:
                write_atomically(self.report_path(block), json.dumps(report).encode())
        return block.name


class ProcessBlocks(beam.PTransform):
    """Applies a stage to every block; the files it writes are the result."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.verb)
        self._stage = stage

    def expand(self, blocks: Any) -> Any:
        """Returns a collection of the names of the finished blocks."""
        return blocks | "ProcessBlock" >> beam.Map(self._stage.process)


def run_stage(stage: Stage, blocks: Sequence[Block], options: PipelineOptions) -> list[Report]:
    """Runs a stage over all blocks that lack a report; returns the reports in block order.

    Raises:
      UserError: the first block, in order, with a mistake of the user's; or a full disk.
    """
    os.makedirs(stage.folder, exist_ok=True)
    for block in blocks:
        Path(stage.error_path(block)).unlink(missing_ok=True)
    waiting = [block for block in blocks if not stage.is_done(block)]
    if waiting:
        with Progress(stage.verb, waiting, stage.is_done):
            pipeline = beam.Pipeline(runner=make_runner(options), options=options)
            pipeline | "ListBlocks" >> beam.Create(waiting) | ProcessBlocks(stage)
            try:
                run_to_end(pipeline)
            except RuntimeError as error:
                raise _explain(error, stage) from error
    return collect(stage, blocks)


def collect(stage: Stage, blocks: Sequence[Block]) -> list[Report]:
    """Returns the reports of finished blocks in order, or raises the first block's error."""
    reports = []
    for block in blocks:
        error = Path(stage.error_path(block))
        if error.exists():
            raise UserError(error.read_text("utf-8"))
        reports.append(json.loads(Path(stage.report_path(block)).read_bytes()))
    return reports


def _explain(error: RuntimeError, stage: Stage) -> Exception:
    """Returns what a worker's failure means for a user; Beam passes it on as text alone."""
    failure = re.search(r"OSError: \[Errno \d+\] ([^\[\n]*)", str(error))
    if failure is None:
        return error
    return UserError(
        f"{stage.verb} cannot write to {stage.folder}: {failure[1].strip()}; "
        "running the same command again continues the work"
    )
