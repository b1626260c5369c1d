"""HoldOut: dev and test, given or chosen among the training pairs, and what training may see."""

import functools
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsList, AsSideInput

from pipeline.blocks.candidates import merge_candidates, read_candidates
from pipeline.blocks.heldout import HoldOutPairs
from pipeline.blocks.stop import Stop
from pipeline.stages.merging import as_merged
from pipeline.stages.tasks import ConnectedDoFn, RunOnce, options_of


class HoldOut(beam.PTransform):
    """Chooses the sentences with the smallest keys, and writes the raw text of dev and test.

    The candidates of all blocks are combined by the runner, which keeps only the smallest.

    Args:
        function: what to hold out, and where the text goes.
        inventory: side input.
        totals: side input, the clean pairs of each split.
    """

    def __init__(self, function: HoldOutPairs, inventory: AsSideInput, totals: AsSideInput) -> None:
        super().__init__()
        self._function = function
        self._sides = inventory, totals

    def expand(self, cleaned: Any) -> Any:
        """Returns a collection of one `HeldOut`, from what `CleanPairs` returns."""
        number = self._function.choice.candidates
        candidates = cleaned | "ReadCandidates" >> beam.ParDo(
            _ReadCandidates(self._function, options_of(cleaned))
        )
        smallest = as_merged(
            candidates, "KeepSmallest", functools.partial(merge_candidates, number=number)
        )
        given = cleaned | "SelectGiven" >> beam.Filter(_is_given)
        return cleaned.pipeline | "ChoosePairs" >> RunOnce(
            self._function, *self._sides, smallest, AsList(given), verb="HoldOut"
        )


class _ReadCandidates(ConnectedDoFn):
    def __init__(self, function: HoldOutPairs, options: Any) -> None:
        super().__init__(options)
        self._folder = function.pairs_folder
        self._has_candidates = function.choice.candidates > 0

    def process(self, cleaned: Any) -> Iterator[Any]:
        """Yields the candidates of a block of the training text."""
        if isinstance(cleaned, Stop):
            return
        block, _ = cleaned
        if block.split == "train" and self._has_candidates:
            yield read_candidates(self._folder, block)


def _is_given(cleaned: Any) -> bool:
    return not isinstance(cleaned, Stop) and cleaned[0].split != "train"
