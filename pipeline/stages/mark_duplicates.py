"""MarkDuplicates: finds the training pairs that repeat an earlier one."""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsList, AsSideInput, AsSingleton

from pipeline.blocks.clean_block import CleanReport
from pipeline.blocks.inventory import Inventory
from pipeline.blocks.repeats import Repeats
from pipeline.blocks.stop import Stop
from pipeline.cleaning.deduplication import count_ranges
from pipeline.stages.tasks import ConnectedDoFn, RunOnce, options_of


class MarkDuplicates(beam.PTransform):
    """Compares the keys of all training pairs, a range of keys at a time.

    A GroupByKey of packed keys would carry 12 bytes a pair: 540 MB of 45 million pairs, which
    Beam's in-process runner holds in memory, at 4.5 times their size. The keys stay in the files of
    their blocks instead, sorted, so that a range of them is a slice. What crosses the shuffle are
    the numbers of the ranges; a task reads its slice of every block's file.

    Args:
        folder: output folder of `CleanPairs`, which also receives the repeats.
        totals: side input, the clean pairs of each split.
    """

    def __init__(self, folder: str, totals: AsSideInput) -> None:
        super().__init__()
        self._folder = folder
        self._totals = totals

    def expand(self, inventory: Any) -> Any:
        """Returns a collection of one `Repeats`."""
        plan = inventory.pipeline | "PlanRanges" >> RunOnce(
            self._plan, AsSingleton(inventory), self._totals
        )
        found = (
            plan
            | "ListRanges" >> beam.FlatMap(_list_ranges)
            | "SpreadRanges" >> beam.Reshuffle()
            | "FindRepeats" >> beam.ParDo(_FindRepeats(options_of(plan)))
        )
        return inventory.pipeline | "Collect" >> RunOnce(
            lambda repeats, _: repeats, AsSingleton(plan), AsList(found)
        )

    def _plan(self, inventory: Inventory, totals: dict[str, CleanReport]) -> Repeats:
        return Repeats(self._folder, count_ranges(totals["train"].kept), inventory.blocks["train"])


class _FindRepeats(ConnectedDoFn):
    def process(self, numbered: tuple[int, Repeats]) -> Iterator[int]:
        """Yields the number of a finished range."""
        number, repeats = numbered
        repeats.find(number)
        yield number


def _list_ranges(repeats: Repeats | Stop) -> Iterator[tuple[int, Repeats]]:
    if not isinstance(repeats, Stop):
        for number in range(repeats.ranges):
            yield number, repeats
