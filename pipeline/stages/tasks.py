"""How functions become Beam transforms: over all blocks, or once.

Each gets what is the same for all blocks as side inputs. If one of these is a `Stop`, nothing is
done: a task over blocks returns nothing then, a single task returns the stop.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import AsSideInput

from pipeline.blocks.step import Step
from pipeline.blocks.stop import Stop, first_stop, place_of
from pipeline.common import storage
from pipeline.common.errors import UserError


class ConnectedDoFn(beam.DoFn):
    """A function whose file systems know the driver's options."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options

    def setup(self) -> None:
        """Tells the file systems the options: not every engine tells them to its workers."""
        storage.connect(self._options)


def options_of(values: Any) -> Mapping[str, Any]:
    """Returns the pipeline options that are not defaults, of a pipeline or of a collection."""
    return _given_options(getattr(values, "pipeline", values).options)


@functools.lru_cache(maxsize=1)  # Beam parses all options each time: 20 ms
def _given_options(options: PipelineOptions) -> Mapping[str, Any]:
    return options.get_all_options(drop_default=True)


class ProcessBlocks(beam.PTransform):
    """Applies a step to every block; returns (block, report), or the `Stop` of a user's mistake.

    Args:
        step: the function and the folder of its reports.
        shared: side inputs, which are the function's further arguments.
    """

    def __init__(self, step: Step[Any], *shared: AsSideInput) -> None:
        super().__init__()
        self._step = step
        self._shared = shared

    def expand(self, blocks: Any) -> Any:
        """Returns the collection of results."""
        function = _ProcessBlock(self._step, options_of(blocks))
        return blocks | "ProcessBlock" >> beam.ParDo(function, *self._shared)


class _ProcessBlock(ConnectedDoFn):
    def __init__(self, step: Step[Any], options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._step = step

    def process(self, block: Any, *shared: Any) -> Iterator[Any]:
        """Yields the block with its report."""
        if first_stop([block, *shared]):
            return
        first, *_ = getattr(block, "blocks", (block,))
        try:
            report = self._step.process(block, *shared)
        except UserError as error:
            yield Stop.from_error(error, place_of(first))
            return
        count(self._step.verb, first.split, report.counters)
        for name, values in getattr(report, "distributions", {}).items():
            for value in values:
                Metrics.distribution(self._step.verb, f"{first.split}/{name}").update(value)
        yield block, report


class RunOnce(beam.PTransform):
    """One task: applies a function to side inputs; its result is the only element.

    A `UserError` becomes a `Stop`. With a `verb`, the result has `counters` of each split.
    """

    def __init__(
        self, function: Callable[..., Any], *inputs: AsSideInput, verb: str | None = None
    ) -> None:
        super().__init__()
        self._function = function
        self._verb = verb
        self._inputs = inputs

    def expand(self, pipeline: Any) -> Any:
        """Returns a collection of one element."""
        function = _RunOnce(self._function, self._verb, options_of(pipeline))
        return pipeline | beam.Impulse() | "Run" >> beam.ParDo(function, *self._inputs)


class _RunOnce(ConnectedDoFn):
    def __init__(
        self, function: Callable[..., Any], verb: str | None, options: Mapping[str, Any]
    ) -> None:
        super().__init__(options)
        self._function = function
        self._verb = verb

    def process(self, _: bytes, *inputs: Any) -> Iterator[Any]:
        """Yields the result."""
        result: Any = first_stop(inputs)
        if result is None:
            try:
                result = self._function(*inputs)
            except UserError as error:
                result = Stop.from_error(error)
            else:
                for split, counters in result.counters.items() if self._verb else ():
                    count(str(self._verb), split, counters)
        yield result


def count(verb: str, split: str, counters: Mapping[str, int]) -> None:
    """Adds to the counters of a verb, shown on the engine's page."""
    for name, value in counters.items():
        Metrics.counter(verb, f"{split}/{name}").inc(value)
