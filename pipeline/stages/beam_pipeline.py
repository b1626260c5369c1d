"""Stages on Apache Beam: one short linear pipeline each, over any of its runners."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.blocks import Unit
from pipeline.stages.runners import make_runner, run_to_end
from pipeline.stages.stage import Stage


@dataclasses.dataclass(frozen=True)
class BeamMapper:
    """A `BlockMapper` that runs a stage as a Beam pipeline, on the runner of the options."""

    options: PipelineOptions

    def __call__(self, stage: Stage[Any], blocks: Sequence[Unit]) -> None:
        """Processes all blocks and waits for the end of the pipeline."""
        run_to_end(self.make_pipeline(stage, blocks))

    def make_pipeline(self, stage: Stage[Any], blocks: Sequence[Unit]) -> beam.Pipeline:
        """Returns the pipeline that applies a stage to blocks.

        Raises:
            UserError: the runner lacks an option.
        """
        values = self.options.get_all_options(drop_default=True)
        try:
            pipeline = beam.Pipeline(runner=make_runner(self.options), options=self.options)
        except ValueError as error:
            runner = self.options.get_all_options()["runner"]
            raise UserError(f"--runner={runner}: {error}") from error
        pipeline | "ListBlocks" >> beam.Create(blocks) | ProcessBlocks(stage, values)
        return pipeline


class ProcessBlocks(beam.PTransform):
    """Applies a stage to every block; the files it writes are the result."""

    def __init__(self, stage: Stage[Any], options: Mapping[str, Any]) -> None:
        """Takes a stage, and the pipeline options that the workers' file systems need."""
        super().__init__(stage.verb)
        self._function = ProcessBlock(stage, options)

    def expand(self, blocks: Any) -> Any:
        """Returns a collection of the names of the finished blocks."""
        return blocks | "ProcessBlock" >> beam.ParDo(self._function)


class ProcessBlock(beam.DoFn):
    """Processes one block, on a worker whose file systems know the driver's options."""

    def __init__(self, stage: Stage[Any], options: Mapping[str, Any]) -> None:
        self._stage = stage
        self._options = options

    def setup(self) -> None:
        """Tells the file systems the options: not every engine tells them to its workers."""
        storage.connect(self._options)

    def process(self, block: Unit) -> Iterator[str]:
        """Yields the name of the finished block."""
        yield self._stage.process(block)
