"""Evaluation of a parser on a treebank (§6.3): scores of its trees, and how many were repaired."""

from collections.abc import Sequence

from trainer.evaluation.brackets import compare_trees, score_trees
from trainer.evaluation.result import CorpusScores, MetricScore, TranslatedSentence

_NO_REPAIR = "share:symbols that were one tree over exactly the words"


def score_parses(
    parses: Sequence[TranslatedSentence], baseline: Sequence[str] | None, *, resamples: int
) -> CorpusScores:
    """Scores the trees of a test set, and compares them with a baseline's.

    Args:
        parses: bracketed trees as translation and as reference.
        baseline: another tree for each sentence; None for no comparison.
        resamples: bootstrap resamples; 0 for no confidence intervals.

    Returns:
        the metrics of `score_trees`, and `no_repair`, the percentage of sentences with words whose
        symbols needed no repair, if it is known of any.
    """
    trees = [parse.translation for parse in parses]
    references = [parse.reference for parse in parses]
    metrics = score_trees(trees, references, resamples=resamples)
    repaired = [row.is_repaired for row in parses if row.reference and row.is_repaired is not None]
    if repaired:
        share = 100.0 * repaired.count(False) / len(repaired)
        metrics["no_repair"] = MetricScore(share, None, None, _NO_REPAIR)
    if baseline is None:
        return CorpusScores(metrics, ())
    compared = compare_trees(trees, baseline, references, resamples=resamples)
    return CorpusScores(metrics, (), compared)
