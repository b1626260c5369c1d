"""Scores of constituency trees by EVALB's rules, with the parameters COLLINS.prm (§6.3, Table 4).

Words whose tag in the reference is punctuation are left out of both trees, as are brackets without
another word and the label TOP; ADVP equals PRT. EVALB leaves punctuation out by each tree's own
tags and scores no sentence where these disagree; otherwise the figures are the same.
"""

import collections
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.dataset.trees import UNKNOWN_TAG, Tree, closes, opens, parse
from trainer.evaluation.result import MetricScore, Significance

_PUNCTUATION = frozenset({",", ":", "``", "''", "."})
_DELETED = _PUNCTUATION | {"TOP"}
_EQUAL = {"PRT": "ADVP"}
_SHORT = 40  # words, punctuation included
_SEED = 12345  # of the bootstrap, as sacreBLEU's
_RULES = "rules:COLLINS.prm|deleted:TOP,punctuation|by:reference tags|eq:ADVP=PRT"

_Bracket = tuple[str, int, int]  # label, first word, word after the last


class TreeCounts(NamedTuple):
    """What is counted in a predicted tree.

    matched: brackets that are in the reference too.
    predicted, expected: brackets of the prediction and of the reference.
    exact: 1 if all of them match, else 0.
    tags: words with the tag of the reference; words: their number, without punctuation.
    """

    matched: int
    predicted: int
    expected: int
    exact: int
    tags: int
    words: int


def count_tree(prediction: Tree, reference: Tree) -> TreeCounts:
    """Compares a tree with the reference.

    Raises:
        ValueError: they do not have the same number of words.
    """
    if len(prediction.words) != len(reference.words):
        raise ValueError(
            f"Received a tree of {len(prediction.words)} words; expected {len(reference.words)}."
        )
    is_scored = [tag not in _PUNCTUATION for tag in reference.tags]
    predicted, expected = (_brackets(tree, is_scored) for tree in (prediction, reference))
    tags = zip(prediction.tags, reference.tags, is_scored, strict=True)
    return TreeCounts(
        matched=(predicted & expected).total(),
        predicted=predicted.total(),
        expected=expected.total(),
        exact=int(predicted == expected),
        tags=sum(tag == right for tag, right, scored in tags if scored),
        words=sum(is_scored),
    )


def score_trees(
    predictions: Sequence[str], references: Sequence[str], *, resamples: int = 0
) -> dict[str, MetricScore]:
    """Scores bracketed trees; a reference without words is left out.

    Args:
        predictions: a tree for each sentence.
        references: the trees of the treebank, over the same words.
        resamples: bootstrap resamples of the sentences for 95 % confidence intervals; 0 for none.

    Returns:
        `f1`, `precision`, `recall`, `exact_match` and `tagging_accuracy` in percent, and with
        the ending `_40` those of the sentences of at most 40 words. There is no tagging accuracy of
        predictions without tags.
    """
    trees = _parse(predictions, references)
    has_tags = any(tag != UNKNOWN_TAG for tree, _ in trees for tag in tree.tags)
    short = [pair for pair in trees if len(pair[1].words) <= _SHORT]
    groups = {"": (trees, "all"), f"_{_SHORT}": (short, str(_SHORT))}
    scores = {}
    for ending, (group, length) in groups.items():
        signature = f"{_RULES}|len:{length}"
        if resamples:
            signature += f"|bs:{resamples}|seed:{_SEED}"
        counts = _count(group)
        values = _percentages(counts.sum(axis=0))
        samples = _percentages(_resample(len(counts), resamples) @ counts)
        for name, value in values.items():
            if has_tags or name != "tagging_accuracy":
                low, high = _interval(samples[name])
                scores[f"{name}{ending}"] = MetricScore(float(value), low, high, signature)
    return scores


def compare_trees(
    predictions: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[str],
    *,
    resamples: int,
) -> dict[str, Significance]:
    """Tests whether the F1 of trees differs significantly from a baseline's.

    Args:
        predictions: a bracketed tree for each sentence.
        baseline: another tree for each.
        references: the trees of the treebank.
        resamples: paired bootstrap resamples (Koehn 2004).
    """
    counts = [_count(_parse(trees, references)) for trees in (predictions, baseline)]
    score, before = (float(_percentages(part.sum(axis=0))["f1"]) for part in counts)
    weights = _resample(len(counts[0]), resamples)
    samples, before_samples = (_percentages(weights @ part)["f1"] for part in counts)
    differences = samples - before_samples
    extreme = np.abs(differences - differences.mean()) >= abs(score - before)
    p_value = (1 + int(extreme.sum())) / (1 + resamples)
    return {"f1": Significance(score, before, p_value)}


def _brackets(tree: Tree, is_scored: Sequence[bool]) -> collections.Counter[_Bracket]:
    """Returns how often each bracket occurs, in positions among the scored words."""
    brackets = collections.Counter[_Bracket]()
    scored = iter(is_scored)
    starts: list[int] = []
    position = 0
    for symbol in tree.symbols:
        if opens(symbol):
            starts.append(position)
        elif not closes(symbol):
            position += next(scored)
        elif (start := starts.pop()) < position and (label := symbol[1:]) not in _DELETED:
            brackets[_EQUAL.get(label, label), start, position] += 1
    return brackets


def _parse(predictions: Sequence[str], references: Sequence[str]) -> list[tuple[Tree, Tree]]:
    """Returns the trees of the sentences whose reference has words."""
    lines = zip(predictions, references, strict=True)
    return [(parse(prediction), parse(reference)) for prediction, reference in lines if reference]


def _count(pairs: Sequence[tuple[Tree, Tree]]) -> np.ndarray:
    """Returns the counts of each sentence, int64 `[S, 7]`; the last column is 1."""
    rows = [(*count_tree(prediction, reference), 1) for prediction, reference in pairs]
    return np.array(rows, np.int64).reshape(len(rows), len(TreeCounts._fields) + 1)


def _resample(sentences: int, resamples: int) -> np.ndarray:
    """Returns how often each sentence is drawn for each resample, int64 `[R, S]`."""
    if not sentences:
        return np.zeros((resamples, 0), np.int64)
    probabilities = np.full(sentences, 1 / sentences)
    return np.random.default_rng(_SEED).multinomial(sentences, probabilities, size=resamples)


def _percentages(sums: np.ndarray) -> Mapping[str, np.ndarray]:
    """Returns the scores of sums of counts, `[7]` or `[R, 7]`."""
    matched, predicted, expected, exact, tags, words, sentences = np.moveaxis(sums, -1, 0)
    return {
        "f1": _share(2 * matched, predicted + expected),
        "precision": _share(matched, predicted),
        "recall": _share(matched, expected),
        "exact_match": _share(exact, sentences),
        "tagging_accuracy": _share(tags, words),
    }


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return 100.0 * part / np.maximum(whole, 1)


def _interval(samples: np.ndarray) -> tuple[float | None, float | None]:
    """Returns the 95 % confidence interval; None without samples."""
    if not samples.size:
        return None, None
    low, high = np.percentile(samples, [2.5, 97.5])
    return float(low), float(high)
