import pytest
import sacrebleu

from trainer.evaluation.metrics import compare_corpora, score_by_length, score_corpus
from trainer.evaluation.result import LengthBin

REFERENCES = [
    "Der Rich-Text-Editor kostet ca. 5,30 Euro.",
    "Am 3. Mai fuhr Dr. Weiß nach Bad-Homburg, z.B. mit dem Zug.",
    "Sie sagte: \u201eWir kommen um 9 Uhr.\u201c",
    "Das O-Ton-Archiv ist seit 1995 (oder 1996) geschlossen \u2026",
    "Der alte Hund schläft unter dem großen Baum im Garten.",
]
TRANSLATIONS = [
    "Der Rich-Text-Editor kostet etwa 5,30 Euro.",
    "Am 3. Mai fuhr Dr. Weiß nach Bad-Nauheim, z.B. mit dem Auto.",
    "Sie sagte: \u201eWir kommen um 8 Uhr.\u201c",
    "Das O-Ton-Archiv ist seit 1995 geschlossen \u2026",
    "Der alte Hund schläft unter einem großen Baum im Garten.",
]
WORSE = [text.replace("Der", "Die").replace("um", "gegen") for text in TRANSLATIONS]


def test_scores_are_those_of_sacrebleu() -> None:
    scores = score_corpus(TRANSLATIONS, [REFERENCES], language="de")
    texts = TRANSLATIONS, [REFERENCES]
    assert scores["bleu"].score == sacrebleu.corpus_bleu(*texts).score
    assert scores["chrf"].score == sacrebleu.corpus_chrf(*texts).score
    assert scores["chrf++"].score == sacrebleu.corpus_chrf(*texts, word_order=2).score
    assert "nw:2" in scores["chrf++"].signature
    assert scores["ter"].score == sacrebleu.corpus_ter(*texts).score
    for name, beginning in {"bleu": "nrefs:1|case:mixed", "chrf": "nrefs:1|case:mixed"}.items():
        assert scores[name].signature.startswith(beginning)
        assert scores[name].low is None


def test_resampling_bears_translations_without_a_right_character() -> None:
    """Some resamples have only these, and their chrF is another kind of zero."""
    translations = [*("x" for _ in REFERENCES[1:]), REFERENCES[0]]
    references = [*("Ja" for _ in REFERENCES[1:]), REFERENCES[0]]
    chrf = score_corpus(translations, [references], language="de", resamples=50)["chrf"]
    assert chrf.low is not None and chrf.high is not None
    assert 0 <= chrf.low < chrf.score <= chrf.high


def test_several_references_are_scored_together() -> None:
    others = [text.replace("alte", "betagte").replace("Uhr", "h") for text in TRANSLATIONS]
    references = [REFERENCES, others]
    scores = score_corpus(TRANSLATIONS, references, language="de")
    assert scores["bleu"].score == sacrebleu.corpus_bleu(TRANSLATIONS, references).score
    assert scores["bleu"].score > score_corpus(TRANSLATIONS, [others], language="de")["bleu"].score
    assert all(metric.signature.startswith("nrefs:2") for metric in scores.values())
    compared = compare_corpora(TRANSLATIONS, WORSE, references, language="de", resamples=10)
    for name, metric in scores.items():
        assert compared[name].score == pytest.approx(metric.score)
    (alone,) = score_by_length([""] * 5, TRANSLATIONS, references)
    assert alone.bleu == scores["bleu"].score


@pytest.mark.parametrize("tokenizer", ["none", "char", "zh", "intl"])
def test_bleu_is_of_the_tokens_that_are_asked_for(tokenizer: str) -> None:
    ours, baseline = (
        [text.replace(".", " .") for text in texts] for texts in (TRANSLATIONS, WORSE)
    )
    references = [text.replace(".", " .") for text in REFERENCES]
    expected, below = (
        sacrebleu.corpus_bleu(texts, [references], tokenize=tokenizer, force=True).score
        for texts in (ours, baseline)
    )
    scores = score_corpus(ours, [references], language="de", bleu_tokenizer=tokenizer)
    assert scores["bleu"].score == expected
    assert f"tok:{tokenizer}" in scores["bleu"].signature
    compared = compare_corpora(
        ours, baseline, [references], language="de", bleu_tokenizer=tokenizer, resamples=10
    )
    assert (compared["bleu"].score, compared["bleu"].baseline) == (expected, below)
    (alone,) = score_by_length([""] * 5, ours, [references], bleu_tokenizer=tokenizer)
    assert alone.bleu == expected


def test_text_that_is_said_to_be_tokenised_gets_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    texts = ["Ein Hund schläft ."] * 120
    for tokenizer, warned in (("13a", True), ("none", False)):
        caplog.clear()
        score_corpus(texts, [texts], language="de", bleu_tokenizer=tokenizer)
        assert ("detokenize" in caplog.text) is warned


def test_the_papers_bleu_is_that_of_multi_bleu_on_tokens_of_split_compounds() -> None:
    """The golden value is what Moses' multi-bleu.perl (31473d88) prints for the same tokens."""
    score = score_corpus(TRANSLATIONS, [REFERENCES], language="de")["paper_bleu"]
    assert f"{score.score:.2f}" == "67.87"
    assert "tok:moses-de-compounds" in score.signature


def test_splitting_compounds_raises_bleu() -> None:
    scores = score_corpus(TRANSLATIONS, [REFERENCES], language="de")
    assert scores["paper_bleu"].score > scores["bleu"].score


def test_confidence_intervals_hold_the_score_and_say_so_in_the_signature() -> None:
    scores = score_corpus(TRANSLATIONS * 10, [REFERENCES * 10], language="de", resamples=50)
    for metric in scores.values():
        assert metric.low is not None and metric.high is not None
        assert metric.low < metric.score < metric.high
        assert "bs:50" in metric.signature


def test_a_clear_difference_is_significant() -> None:
    compared = compare_corpora(
        TRANSLATIONS * 10, WORSE * 10, [REFERENCES * 10], language="de", resamples=100
    )
    bleu = compared["bleu"]
    assert bleu.score == pytest.approx(sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES]).score)
    assert bleu.baseline == pytest.approx(sacrebleu.corpus_bleu(WORSE, [REFERENCES]).score)
    assert compared.keys() == {"bleu", "chrf", "chrf++", "ter", "paper_bleu"}
    assert all(metric.p_value < 0.05 for metric in compared.values())


@pytest.mark.parametrize("baseline", [TRANSLATIONS, [*TRANSLATIONS[:4], WORSE[4]]])
def test_little_or_no_difference_is_not_significant(baseline: list[str]) -> None:
    compared = compare_corpora(TRANSLATIONS, baseline, [REFERENCES], language="de", resamples=100)
    assert all(metric.p_value > 0.1 for metric in compared.values())


def test_sentences_are_binned_by_the_words_of_the_source() -> None:
    sources = ["", "a " * 10, "a " * 11, "a " * 20, "a " * 51]
    bins = score_by_length(sources, TRANSLATIONS, [REFERENCES])
    assert [(group.shortest, group.longest, group.sentences) for group in bins] == [
        (0, 10, 2),
        (11, 20, 2),
        (51, None, 1),
    ]
    expected = sacrebleu.corpus_bleu(TRANSLATIONS[2:4], [REFERENCES[2:4]]).score
    assert bins[1] == LengthBin(11, 20, 2, expected)
