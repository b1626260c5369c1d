"""An evaluation as an object that prints as `trainer.evaluate` does."""

import dataclasses
import html

from trainer.evaluation.result import EvaluationResult, TranslatedSentence
from trainer.evaluation.summary import format_result


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation:
    """The scores of a test set.

    result: everything that evaluation-NAME.json contains.
    rows: source, reference, translation and score of each sentence.
    """

    result: EvaluationResult
    rows: list[TranslatedSentence]

    @property
    def scores(self) -> dict[str, float]:
        """The score of each metric, such as "bleu"."""
        return {name: metric.score for name, metric in self.result.scores.metrics.items()}

    def __repr__(self) -> str:
        return format_result(self.result)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"
