import dataclasses

import pytest

from trainer.evaluation.brackets import score_trees
from trainer.evaluation.parsing import score_parses
from trainer.evaluation.result import TranslatedSentence

GOLD = "(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))"
FLAT = "(S (DT The) (NN dog) (VP (VBZ sleeps)) (. .))"
PARSES = [
    TranslatedSentence("The dog sleeps .", GOLD, GOLD, -1.0, False),
    TranslatedSentence("The dog sleeps .", GOLD, FLAT, -2.0, True),
    TranslatedSentence("The dog sleeps .", GOLD, GOLD, -3.0, False),
    TranslatedSentence("", "", "", 0.0, False),
]


def test_scores_are_those_of_the_brackets_and_the_share_without_repair() -> None:
    scores = score_parses(PARSES, None, resamples=0)
    brackets = score_trees([GOLD, FLAT, GOLD], [GOLD] * 3)
    assert {**scores.metrics} == {**brackets, "no_repair": scores.metrics["no_repair"]}
    assert scores.metrics["f1"].score == pytest.approx(100 * 16 / 17)
    assert scores.metrics["no_repair"].score == pytest.approx(200 / 3)
    assert not scores.bleu_by_length and not scores.beside_baseline


def test_trees_of_another_parser_have_no_share_without_repair() -> None:
    others = [dataclasses.replace(parse, is_repaired=None) for parse in PARSES]
    assert "no_repair" not in score_parses(others, None, resamples=0).metrics


def test_a_baseline_is_compared_by_f1() -> None:
    flat = [dataclasses.replace(parse, translation=FLAT) for parse in PARSES[:2]]
    beside = score_parses(flat, [GOLD, GOLD], resamples=50).beside_baseline
    assert beside.keys() == {"f1"}
    assert beside["f1"].score == pytest.approx(80)
    assert beside["f1"].baseline == 100
