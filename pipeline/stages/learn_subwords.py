"""LearnSubwords: one task, from the counts of all words to vocabularies."""

from collections.abc import Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSideInput, AsSingleton

from pipeline.blocks.clean_block import CleanReport
from pipeline.blocks.count_block import Counted
from pipeline.blocks.manifest import count_pairs
from pipeline.blocks.vocabularies import VocabularyPlan
from pipeline.cleaning.rule_flags import explain_no_pairs
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Vocabulary
from pipeline.stages.tasks import RunOnce

Vocabularies = tuple[Vocabulary, ...]  # one for each plan


class LearnSubwords(beam.PTransform):
    """Learns or copies the vocabularies; holds the distinct words that they are learned from.

    Args:
        plans: vocabularies to make.
        folder: for their files.
        totals: side input, the clean pairs of each split.
    """

    def __init__(self, plans: Sequence[VocabularyPlan], folder: str, totals: AsSideInput) -> None:
        super().__init__()
        self._plans = plans
        self._folder = folder
        self._totals = totals

    def expand(self, counted: Any) -> Any:
        """Returns a collection of one `Vocabularies`, from what `CountWords` returns."""
        return counted.pipeline | RunOnce(self._make, AsSingleton(counted), self._totals)

    def _make(self, counted: Counted | None, totals: Mapping[str, CleanReport]) -> Vocabularies:
        if counted and not counted.report.kept:
            raise UserError(explain_no_pairs(count_pairs(totals["train"], [counted.report])))
        for number, plan in enumerate(self._plans):
            if counted is None:
                plan.write(self._folder, None, 0)
                continue
            plan.write(self._folder, counted.merged[number].read, counted.report.kept)
        return tuple(plan.identify(self._folder) for plan in self._plans)
