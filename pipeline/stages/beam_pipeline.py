"""Stages over all blocks, as Beam pipelines: one short linear chain each, outputs named by block.

A stage writes its files, then its report; a block with a report is finished and is not done
again. A user's mistake found inside a worker becomes the block's error file, which the driver
raises in block order: the message does not depend on which worker was first.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.progress import Progress
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Unit
from pipeline.stages.block_stages import Report
from pipeline.stages.runners import make_runner, run_to_end


@dataclasses.dataclass(frozen=True)
class Stage:
    """A function over blocks, the verb it is known by, and the folder of its reports."""

    verb: str
    function: Callable[[Any], Report]  # of a block, or of a group
    folder: str
    options: Mapping[str, Any] = field(default_factory=dict)  # Beam's, for its file systems

    def report_path(self, block: Unit) -> str:
        """Returns the file whose existence means that the block is finished."""
        return f"{self.folder}/{block.name}.json"

    def error_path(self, block: Unit) -> str:
        """Returns the file that holds the message of a user's mistake in the block."""
        return f"{self.folder}/{block.name}.error"

    def finished(self) -> set[str]:
        """Returns the names of the blocks that workers have finished."""
        names = storage.entries(self.folder)
        return {name.removesuffix(".json") for name in names if name.endswith(".json")}

    def process(self, block: Unit) -> str:
        """Processes one block, unless it is finished, and returns its name."""
        storage.connect(self.options)
        if not storage.is_file(self.report_path(block)):
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


def make_pipeline(stage: Stage, blocks: Sequence[Unit], options: PipelineOptions) -> beam.Pipeline:
    """Returns the pipeline that applies a stage to blocks, on the engine of the options.

    Raises:
      UserError: the engine lacks an option.
    """
    stage = dataclasses.replace(stage, options=options.get_all_options(drop_default=True))
    try:
        pipeline = beam.Pipeline(runner=make_runner(options), options=options)
    except ValueError as error:
        raise UserError(f"--runner={options.get_all_options()['runner']}: {error}") from error
    pipeline | "ListBlocks" >> beam.Create(blocks) | ProcessBlocks(stage)
    return pipeline


def run_stage(stage: Stage, blocks: Sequence[Unit], options: PipelineOptions) -> list[Report]:
    """Runs a stage over all blocks that lack a report; returns the reports in block order.

    Raises:
      UserError: the first block, in order, with a mistake of the user's; or a full disk.
    """
    storage.make_folder(stage.folder)
    for name in storage.entries(stage.folder):
        if name.endswith(".error"):
            storage.delete(f"{stage.folder}/{name}")
    finished = stage.finished()
    waiting = [block for block in blocks if block.name not in finished]
    if waiting:
        with Progress(stage.verb, waiting, stage.finished):
            try:
                run_to_end(make_pipeline(stage, waiting, options))
            except (RuntimeError, OSError) as error:
                raise _explain(error, stage) from error
    return collect(stage, blocks)


def collect(stage: Stage, blocks: Sequence[Unit]) -> list[Report]:
    """Returns the reports of finished blocks in order, or raises the first block's error."""
    reports = []
    names = storage.entries(stage.folder)
    for block in blocks:
        error = stage.error_path(block)
        if error.removeprefix(f"{stage.folder}/") in names:
            raise UserError(storage.read(error).decode())
        reports.append(json.loads(storage.read(stage.report_path(block))))
    return reports


def _explain(error: Exception, stage: Stage) -> Exception:
    """Returns what a worker's failure means for a user; most engines pass it on as text alone."""
    failure = re.search(r"\[Errno \d+\] ([^\[\n]*)", str(error))
    if failure is None:
        return error
    return UserError(
        f"{stage.verb}: {failure[1].strip()}; every worker must be able to read the inputs and to "
        f"write to {stage.folder}; running the same command again continues the work"
    )
