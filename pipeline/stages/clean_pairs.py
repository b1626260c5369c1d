"""CleanPairs: normalizes the lines of blocks, drops pairs by rule, writes the rest."""

from typing import Any

import apache_beam as beam

from pipeline.blocks.clean_block import CleanBlock, CleanReport
from pipeline.blocks.step import Step
from pipeline.cleaning.rules import PairRules
from pipeline.stages.tasks import ProcessBlocks


class CleanPairs(beam.PTransform):
    """Cleans blocks; the result is (block, `CleanReport`), or a `Stop` for a user's mistake.

    Args:
        folder: where the clean pairs are written, a TSV per block.
        done: folder of the reports.
        rules: the rules that drop pairs.
        candidates: pairs of a block to propose for dev and test.
    """

    def __init__(self, folder: str, done: str, rules: PairRules, candidates: int = 0) -> None:
        super().__init__()
        function = CleanBlock(folder, rules, candidates)
        self._step = Step("CleanPairs", function, done, CleanReport)

    def expand(self, blocks: Any) -> Any:
        """Returns the collection of results."""
        return blocks | ProcessBlocks(self._step)
