"""Merging partial results by the runner, of which any may be a `Stop`."""

from collections.abc import Callable, Iterable
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from pipeline.blocks.stop import Stop

_MERGED_TOGETHER = 64


class Merge(beam.CombineFn):
    """Combines values with a function from an iterable of them to one; or to the first `Stop`."""

    def __init__(self, merge: Callable[[Iterable[Any]], Any]) -> None:
        self._merge = merge

    def create_accumulator(self) -> list[Any]:
        """Returns an accumulator without values."""
        return []

    def add_input(self, accumulator: list[Any], element: Any) -> list[Any]:
        """Adds a value, and merges those collected when they are many."""
        accumulator.append(element)
        return accumulator if len(accumulator) < _MERGED_TOGETHER else self.compact(accumulator)

    def merge_accumulators(self, accumulators: Iterable[list[Any]]) -> list[Any]:
        """Merges accumulators, in any order."""
        return [self._reduce(value for values in accumulators for value in values)]

    def compact(self, accumulator: list[Any]) -> list[Any]:
        """Merges the collected values before they cross a shuffle."""
        return [self._reduce(accumulator)]

    def extract_output(self, accumulator: list[Any]) -> Any:
        """Returns the merged value."""
        return self._reduce(accumulator)

    def _reduce(self, values: Iterable[Any]) -> Any:
        collected = list(values)
        stops = [value for value in collected if isinstance(value, Stop)]
        return min(stops) if stops else self._merge(collected)


def as_merged(values: Any, label: str, merge: Callable[[Iterable[Any]], Any]) -> AsSingleton:
    """Returns a side input: all values merged; `merge([])` if there are none."""
    # Without defaults, because a default costs two more steps of the graph.
    merged = values | label >> beam.CombineGlobally(Merge(merge)).without_defaults()
    return AsSingleton(merged, default_value=merge([]))
