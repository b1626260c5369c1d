import json
from pathlib import Path

import pytest

from pipeline.dataset.trees import parse
from trainer.evaluation.brackets import compare_trees, count_tree, score_trees

EVALB = json.loads(Path(__file__).with_name("evalb.json").read_text("utf-8"))
SENTENCES = EVALB["sentences"]
REFERENCES = [row["reference"] for row in SENTENCES]
PREDICTIONS = [row["prediction"] for row in SENTENCES]
GOLD = "(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))"


def count(prediction: str, reference: str = GOLD) -> tuple[int, ...]:
    return tuple(count_tree(parse(prediction), parse(reference)))


@pytest.mark.parametrize("row", SENTENCES, ids=lambda row: row["prediction"][:30])
def test_counts_are_those_of_evalb(row: dict) -> None:
    counts = count_tree(parse(row["prediction"]), parse(row["reference"]))
    assert counts.matched == row["matched"]
    assert (counts.expected, counts.predicted) == (row["gold"], row["test"])
    assert (counts.words, counts.tags) == (row["words"], row["tags"])


@pytest.mark.parametrize(("group", "ending"), [("all", ""), ("40", "_40")])
def test_the_summary_is_that_of_evalb(group: str, ending: str) -> None:
    names = {
        "recall": "Bracketing Recall",
        "precision": "Bracketing Precision",
        "f1": "Bracketing FMeasure",
        "exact_match": "Complete match",
        "tagging_accuracy": "Tagging accuracy",
    }
    scores = score_trees(PREDICTIONS, REFERENCES)
    for name, theirs in names.items():
        expected = EVALB["summary"][group][theirs]
        assert scores[name + ending].score == pytest.approx(expected, abs=0.005), name
    assert len({*map(str, EVALB["summary"].values())}) == 2


def test_counts_by_hand() -> None:
    """(matched, predicted, expected, exact, tags, words): the full stop is left out."""
    assert count(GOLD) == (3, 3, 3, 1, 3, 3)
    assert count("(S (DT The) (VP (NN dog) (VBZ sleeps)) (. .))") == (1, 2, 3, 0, 3, 3)
    flat = "(S (XX The) (XX dog) (XX sleeps) (XX .))"
    assert count(flat) == (1, 1, 3, 0, 0, 3)
    twice = "(S (NP (NP (DT The) (NN dog))) (VP (VBZ sleeps)) (. .))"
    assert count(twice) == (3, 4, 3, 0, 3, 3)
    assert count(twice, twice) == (4, 4, 4, 1, 3, 3)


def test_rules_of_collins() -> None:
    reference = "(S (VP (VB give) (PRT (RP up))) (PRN (, ,)))"
    assert count("(TOP (S (VP (VB give) (ADVP (RP up))) (, ,)))", reference)[:4] == (3, 3, 3, 1)


def test_punctuation_is_that_of_the_reference() -> None:
    """Where EVALB would refuse: a comma with another tag, and a word tagged as a comma."""
    reference = "(S (NP (NN a)) (, ,) (NP (NN b)))"
    assert count("(S (NP (, a)) (CC ,) (NP (NN b)))", reference) == (3, 3, 3, 1, 1, 2)


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="tree of 1 words; expected 4"):
        count("(NN a)")


def test_intervals_contain_the_score_and_signatures_tell_the_rules() -> None:
    scores = score_trees(PREDICTIONS, REFERENCES, resamples=200)
    f1 = scores["f1"]
    assert f1.low is not None and f1.high is not None
    assert 0 < f1.low < f1.score < f1.high < 100
    assert f1.signature == (
        "rules:COLLINS.prm|deleted:TOP,punctuation|by:reference tags|eq:ADVP=PRT|len:all|bs:200|"
        "seed:12345"
    )
    assert "|len:40|" in scores["recall_40"].signature
    assert score_trees(PREDICTIONS, REFERENCES, resamples=200) == scores
    assert score_trees(PREDICTIONS, REFERENCES)["f1"].low is None


def test_trees_without_tags_have_no_tagging_accuracy() -> None:
    untagged = [GOLD.replace("(DT", "(XX").replace("(NN", "(XX").replace("(VBZ", "(XX")]
    untagged = [untagged[0].replace("(. ", "(XX ")]
    scores = score_trees(untagged, [GOLD])
    assert "tagging_accuracy" not in scores
    assert (scores["f1"].score, scores["exact_match_40"].score) == (100, 100)


def test_a_sentence_without_words_is_left_out() -> None:
    assert score_trees([GOLD, ""], [GOLD, ""]) == score_trees([GOLD], [GOLD])


def test_a_difference_is_significant_if_resampling_seldom_makes_it() -> None:
    worse = ["(S (DT The) (NN dog) (VP (VBZ sleeps)) (. .))"]
    many = compare_trees([GOLD] * 50, worse * 50, [GOLD] * 50, resamples=100)["f1"]
    assert many.score == 100
    assert many.baseline == pytest.approx(80)
    same = compare_trees(PREDICTIONS, PREDICTIONS, REFERENCES, resamples=100)["f1"]
    assert (same.score, same.p_value) == (same.baseline, 1)
    better = compare_trees(REFERENCES, PREDICTIONS, REFERENCES, resamples=300)["f1"]
    assert better.p_value < 0.01
