"""Corpus scores of translations: sacreBLEU's BLEU, chrF and TER, and the paper's own BLEU.

The paper's 27.3 and 28.4 are BLEU on Moses tokens whose compounds are split at hyphens, which runs
0.7 to 1.5 above sacreBLEU's on the same translations (`trainer.evaluation.moses_tokenizer`).
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from trainer.evaluation.moses_tokenizer import split_compounds, tokenize

Texts = Sequence[str]

# Words of the source that the bins of sentences by length hold at most; one more holds the rest.
_LENGTHS = (10, 20, 30, 40, 50)


@dataclasses.dataclass(frozen=True)
class MetricScore:
    """A score of a corpus.

    low, high: 95 % confidence interval by bootstrap resampling; None if nothing was resampled.
    signature: to be given wherever the score is.
    """

    score: float
    low: float | None
    high: float | None
    signature: str


@dataclasses.dataclass(frozen=True)
class Significance:
    """A score beside that of other translations of the same source.

    p_value: how probable so large a difference is by chance (paired bootstrap resampling, Koehn
        2004).
    """

    score: float
    baseline: float
    p_value: float


@dataclasses.dataclass(frozen=True)
class LengthBin:
    """The sentences with so many words, by spaces, in the source."""

    shortest: int
    longest: int | None
    sentences: int
    bleu: float


def score_corpus(
    translations: Texts,
    references: Texts,
    *,
    language: str,
    tokenize: str = "13a",
    resamples: int = 0,
) -> dict[str, MetricScore]:
    """Scores translations by every metric.

    Args:
        translations: one a sentence.
        references: likewise.
        language: of both, a code such as "de"; for the paper's tokens.
        tokenize: sacreBLEU's tokenisation for `bleu`; "none" for text that is tokenised already,
            "13a" for text that is not, as the other metrics expect.
        resamples: of the sentences, for confidence intervals; 0 for none.

    Returns:
        `bleu`, `chrf`, `ter` and `paper_bleu`.
    """
    found = {}
    for name, (metric, prepare) in _metrics(language, tokenize).items():
        result = metric.corpus_score(
            prepare(translations), [prepare(references)], n_bootstrap=resamples or 1
        )
        low, high = _interval(result) if resamples else (None, None)
        signature = str(metric.get_signature())
        if name == "paper_bleu":
            signature = signature.replace("tok:none", f"tok:moses-{language}-compounds")
        found[name] = MetricScore(result.score, low, high, signature)
    return found


def compare_corpora(
    translations: Texts,
    baseline: Texts,
    references: Texts,
    *,
    language: str,
    tokenize: str = "13a",
    resamples: int,
) -> dict[str, Significance]:
    """Tells by every metric whether translations differ from others by more than chance."""
    found = {}
    for name, (metric, prepare) in _metrics(language, tokenize).items():
        systems = [("baseline", prepare(baseline)), ("this", prepare(translations))]
        test = PairedTest(
            systems, {name: metric}, [prepare(references)], test_type="bs", n_samples=resamples
        )
        ((_, (before, now)),) = (
            (key, value) for key, value in test()[1].items() if key != "System"
        )
        # sacreBLEU calls no difference at all a significant one.
        p_value = 1.0 if now.score == before.score else float(now.p_value)
        found[name] = Significance(float(now.score), float(before.score), p_value)
    return found


def score_by_length(
    sources: Texts, translations: Texts, references: Texts, *, tokenize: str = "13a"
) -> list[LengthBin]:
    """Gives BLEU of sentences of similar length; lengths that no sentence has are left out."""
    bins = []
    for below, longest in zip((-1, *_LENGTHS), (*_LENGTHS, None), strict=True):
        rows = [
            row
            for row, source in enumerate(sources)
            if below < len(source.split()) and (longest is None or len(source.split()) <= longest)
        ]
        if rows:
            bleu = _bleu(tokenize).corpus_score(
                [translations[row] for row in rows], [[references[row] for row in rows]]
            )
            bins.append(LengthBin(below + 1, longest, len(rows), bleu.score))
    return bins


def _bleu(tokenize: str) -> BLEU:
    return BLEU(tokenize=tokenize, force=tokenize == "none")  # no warning of what is meant


def _metrics(
    language: str, bleu_tokenize: str
) -> Mapping[str, tuple[Any, Callable[[Texts], list[str]]]]:
    """Each metric, and what is done with text before."""

    def as_paper(texts: Texts) -> list[str]:
        return [split_compounds(tokenize(text, language)) for text in texts]

    paper = BLEU(tokenize="none", smooth_method="none", force=True)
    return {
        "bleu": (_bleu(bleu_tokenize), list),
        "chrf": (CHRF(), list),
        "ter": (TER(), list),
        "paper_bleu": (paper, as_paper),
    }


def _interval(result: Any) -> tuple[float, float]:
    """The 95 % confidence interval of a score that sacreBLEU has resampled."""
    return float(result._mean - result._ci), float(result._mean + result._ci)
