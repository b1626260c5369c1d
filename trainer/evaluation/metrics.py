"""Corpus scores of translations: sacreBLEU's BLEU, chrF(++) and TER, and the paper's own BLEU.

The paper's 27.3 and 28.4 are BLEU on Moses tokens whose compounds are split at hyphens, which is
0.7 to 1.5 above sacreBLEU's on the same translations (`trainer.evaluation.moses_tokenizer`).
"""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric, Score
from sacrebleu.significance import PairedTest

from trainer.evaluation.moses_tokenizer import moses_tokenize, split_compounds
from trainer.evaluation.result import LengthBin, MetricScore, Significance

Texts = Sequence[str]

# Upper bounds, in words of the source, of the length bins; one more bin holds longer sentences.
_BIN_BOUNDS = (10, 20, 30, 40, 50)
_DECIMALS = 12  # of a confidence interval


class _Chrf(CHRF):
    """sacreBLEU's chrF, whose resampled scores all have one type.

    Its own are NumPy's, but Python's where nothing matches; `statistics.mean` refuses a mixture.
    """

    def _compute_f_score(self, statistics: list[int]) -> float:
        return float(super()._compute_f_score(statistics))


class _PreparedMetric(NamedTuple):
    """A metric, and how texts are prepared for it."""

    metric: Metric
    prepare: Callable[[Texts], list[str]]


def score_corpus(
    translations: Texts,
    references: Sequence[Texts],
    *,
    language: str,
    bleu_tokenizer: str = "13a",
    resamples: int = 0,
) -> dict[str, MetricScore]:
    """Scores translations by every metric.

    Args:
        translations: one per sentence.
        references: one list or several, each with one per sentence.
        language: of both, a code such as "de"; for the paper's tokens.
        bleu_tokenizer: sacreBLEU's tokenizer for `bleu`: "none" for text that was tokenised
            before, "13a" for raw text, which the other metrics expect.
        resamples: bootstrap resamples for confidence intervals; 0 for none.

    Returns:
        `bleu`, `chrf`, `chrf++`, `ter` and `paper_bleu`.
    """
    scores = {}
    for name, (metric, prepare) in _make_metrics(language, bleu_tokenizer).items():
        score = metric.corpus_score(
            prepare(translations), list(map(prepare, references)), n_bootstrap=resamples or 1
        )
        signature = str(metric.get_signature())
        low, high = _confidence_interval(score, signature) if resamples else (None, None)
        if name == "paper_bleu":
            signature = signature.replace("tok:none", f"tok:moses-{language}-compounds")
        scores[name] = MetricScore(score.score, low, high, signature)
    return scores


def compare_corpora(
    translations: Texts,
    baseline: Texts,
    references: Sequence[Texts],
    *,
    language: str,
    bleu_tokenizer: str = "13a",
    resamples: int,
) -> dict[str, Significance]:
    """Tests by every metric whether translations differ significantly from a baseline's."""
    significances = {}
    for name, (metric, prepare) in _make_metrics(language, bleu_tokenizer).items():
        systems = [("baseline", prepare(baseline)), ("system", prepare(translations))]
        test = PairedTest(
            systems,
            {name: metric},
            list(map(prepare, references)),
            test_type="bs",
            n_samples=resamples,
        )
        _signatures, columns = test()
        (results,) = (column for title, column in columns.items() if title != "System")
        before, after = results
        # sacreBLEU reports equal scores as a significant difference.
        p_value = 1.0 if after.score == before.score else float(after.p_value)
        significances[name] = Significance(float(after.score), float(before.score), p_value)
    return significances


def score_by_length(
    sources: Texts, translations: Texts, references: Sequence[Texts], *, bleu_tokenizer: str = "13a"
) -> list[LengthBin]:
    """Computes BLEU by words of the source; bins without a sentence are omitted."""
    words = [len(source.split()) for source in sources]
    bins = []
    for below, longest in zip((-1, *_BIN_BOUNDS), (*_BIN_BOUNDS, None), strict=True):
        rows = [
            row
            for row, length in enumerate(words)
            if below < length and (longest is None or length <= longest)
        ]
        if rows:
            bleu = _make_bleu(bleu_tokenizer).corpus_score(
                [translations[row] for row in rows],
                [[texts[row] for row in rows] for texts in references],
            )
            bins.append(LengthBin(below + 1, longest, len(rows), bleu.score))
    return bins


def score_bleu_alone(
    translations: Texts, references: Sequence[Texts], *, bleu_tokenizer: str
) -> float:
    """Computes BLEU alone; see `score_corpus`."""
    bleu = _make_bleu(bleu_tokenizer)
    return float(bleu.corpus_score(list(translations), list(map(list, references))).score)


def _make_bleu(tokenizer: str) -> BLEU:
    """Returns sacreBLEU's BLEU; `force` silences its warning about text tokenised on purpose."""
    return BLEU(tokenize=tokenizer, force=tokenizer == "none")


def _make_metrics(language: str, bleu_tokenizer: str) -> dict[str, _PreparedMetric]:
    def tokenize_as_paper(texts: Texts) -> list[str]:
        return [split_compounds(moses_tokenize(text, language)) for text in texts]

    paper_bleu = BLEU(tokenize="none", smooth_method="none", force=True)
    return {
        "bleu": _PreparedMetric(_make_bleu(bleu_tokenizer), list),
        "chrf": _PreparedMetric(_Chrf(), list),
        "chrf++": _PreparedMetric(_Chrf(word_order=2), list),
        "ter": _PreparedMetric(TER(), list),
        "paper_bleu": _PreparedMetric(paper_bleu, tokenize_as_paper),
    }


def _confidence_interval(score: Score, signature: str) -> tuple[float, float]:
    """Returns the 95 % confidence interval of a score that sacreBLEU has resampled.

    Only sacreBLEU's JSON form gives it; without one, mean and width are zero.
    """
    fields = json.loads(score.format(width=_DECIMALS, signature=signature, is_json=True))
    mean, half_width = fields.get("confidence_mean", 0.0), fields.get("confidence_var", 0.0)
    return mean - half_width, mean + half_width
