"""A test set is scored in every variant, source and references changed alike."""

import pytest

from pipeline.common.text_variants import VARIANTS
from pipeline.dataset.schema import Dataset
from trainer.evaluation import robustness
from trainer.evaluation.read_test_set import EvaluationSet
from trainer.evaluation.result import TranslatedSentence
from trainer.inference.translator import Translator

SOURCE = ["The old dog sleeps in the garden.", "He sees the large house over there."]


def test_a_model_that_copies_is_right_but_for_typos(
    translator: Translator, tiny_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def copy(
        translator: Translator, source: list[str], references: list[str], *, source_tag: str
    ) -> list[TranslatedSentence]:
        seen.append(source)
        return [TranslatedSentence(text, text, text, 0.0) for text in source]

    monkeypatch.setattr(robustness, "translate_set", copy)
    test_set = EvaluationSet(SOURCE, [SOURCE, ["x"] * 2])
    scores = robustness.score_variants(translator, tiny_dataset, test_set, "13a")
    assert scores.keys() == VARIANTS.keys()
    assert scores.pop("typo") < 90
    assert list(scores.values()) == pytest.approx([100.0] * 5)
    assert seen[0] == [text.upper() for text in SOURCE]
