"""CountWords: how often each word occurs in the training pairs."""

from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsList, AsSideInput, AsSingleton

from pipeline.blocks.count_block import (
    BlockGroup,
    Counted,
    CountGroup,
    CountReport,
    MergedCounts,
    add_reports,
    group_size,
)
from pipeline.blocks.inventory import Inventory
from pipeline.blocks.step import Step
from pipeline.blocks.stop import Stop
from pipeline.stages.merging import as_merged
from pipeline.stages.tasks import ConnectedDoFn, ProcessBlocks, RunOnce, options_of


class CountWords(beam.PTransform):
    """Counts the words of groups of blocks, then adds the groups, a range of words at a time.

    The different words of 45 million pairs are tens of millions: as elements of a combiner they
    would fill the memory of every worker. Each group's counts are a file, divided by a hash of the
    word, and a task adds one part of every file.

    Args:
        pairs_folder: output folder of `CleanPairs`.
        folder: for the counts.
        done: folder of the reports.
        block_lines: lines of a block.
        vocabularies: sides that are counted together, and words to keep, for each vocabulary.
        inventory: side input.
        shared: side inputs: what is held out and, if duplicates are dropped, the repeats.
    """

    def __init__(
        self,
        pairs_folder: str,
        folder: str,
        done: str,
        *,
        block_lines: int,
        vocabularies: Sequence[tuple[tuple[str, ...], int | None]],
        inventory: AsSideInput,
        shared: Sequence[AsSideInput],
    ) -> None:
        super().__init__()
        self._step = Step("CountWords", CountGroup(pairs_folder, folder), done, CountReport)
        self._folder = folder
        self._block_lines = block_lines
        self._vocabularies = vocabularies
        self._inventory = inventory
        self._shared = shared

    def expand(self, cleaned: Any) -> Any:
        """Returns a collection of one `Counted`, from what `CleanPairs` returns."""
        pipeline = cleaned.pipeline
        counted = (
            cleaned
            | "NumberGroups" >> beam.FlatMap(_number_group, self._block_lines)
            | "GroupBlocks" >> beam.GroupByKey()
            | "MakeGroups" >> beam.MapTuple(_make_group)
            | "CountGroups" >> ProcessBlocks(self._step, *self._shared)
        )
        report = as_merged(counted | "Reports" >> beam.Map(_report), "AddReports", add_reports)
        plan = pipeline | "PlanRanges" >> RunOnce(
            self._plan, self._inventory, report, *self._shared
        )
        merged = (
            plan
            | "ListRanges" >> beam.FlatMap(_list_ranges)
            | "SpreadRanges" >> beam.Reshuffle()
            | "MergeCounts" >> beam.ParDo(_MergeCounts(options_of(cleaned)))
        )
        return pipeline | "Collect" >> RunOnce(
            lambda counted, _: counted, AsSingleton(plan), AsList(merged)
        )

    def _plan(self, inventory: Inventory, report: CountReport, *_: Any) -> Counted:
        blocks = inventory.blocks["train"]
        size = group_size(blocks, self._block_lines)
        merged = (
            MergedCounts(self._folder, sides, blocks, size, learned_words)
            for sides, learned_words in self._vocabularies
        )
        return Counted(report, tuple(merged))


class _MergeCounts(ConnectedDoFn):
    def process(self, task: tuple[MergedCounts, int]) -> Iterator[int]:
        """Yields the number of a finished range."""
        counts, number = task
        counts.merge(number)
        yield number


def _list_ranges(counted: Counted | Stop) -> Iterator[tuple[MergedCounts, int]]:
    if not isinstance(counted, Stop):
        for counts in counted.merged:
            for number in range(counts.ranges):
                yield counts, number


def _number_group(cleaned: Any, block_lines: int) -> Iterator[Any]:
    if isinstance(cleaned, Stop) or cleaned[0].split != "train":
        return
    block, _ = cleaned
    yield block.index // group_size(block.siblings, block_lines), block


def _make_group(_: int, blocks: Any) -> BlockGroup:
    return BlockGroup(tuple(sorted(blocks, key=lambda block: block.index)))


def _report(counted: Any) -> Any:
    return counted if isinstance(counted, Stop) else counted[1]
