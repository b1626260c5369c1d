"""Pipelines in this process, for tests of single transforms."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.corpora.blocks import Block
from pipeline.corpora.spans import Span
from pipeline.stages.beam_internals import make_local_runner

NOWHERE = Span("", 0, 0, "", 1)


@contextlib.contextmanager
def pipeline(*flags: str) -> Iterator[beam.Pipeline]:
    """Runs the transforms that are applied to it, when the block ends."""
    options = PipelineOptions(list(flags))
    with beam.Pipeline(runner=make_local_runner(options, None), options=options) as pipeline:
        yield pipeline


def singleton(pipeline: beam.Pipeline, label: str, value: Any) -> beam.pvalue.AsSingleton:
    """Returns a side input of one value."""
    return beam.pvalue.AsSingleton(pipeline | label >> beam.Create([value]))


def only(check: Callable[[Any], None]) -> Callable[[list[Any]], None]:
    """Returns a matcher for `assert_that`: checks the only element."""

    def match(values: list[Any]) -> None:
        (value,) = values
        check(value)

    return match


def training_blocks(number: int, lines: int = 9) -> list[Block]:
    """Returns the blocks of a training text that is nowhere."""
    return [Block("train", index, lines, NOWHERE, NOWHERE, number) for index in range(number)]
