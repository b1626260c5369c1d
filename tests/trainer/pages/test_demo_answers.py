"""The page to try a model on gets what search gives, and the attention of the first sentence."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.common.errors import UserError
from trainer.inference import translator as translator_module
from trainer.inference.batching import translate_all
from trainer.inference.translator import Translator
from trainer.pages.demo_answers import answer_with_run, answer_with_saved_model
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModels


def test_a_run_gives_all_hypotheses_and_attention_of_the_first_sentence(
    tiny_run: Run, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = translator, SimpleNamespace(step=1_200)
    monkeypatch.setattr(translator_module, "load_translator", lambda *_, **__: loaded)
    model = answer_with_run(tiny_run, TrainedModels(), tiny_run.search)
    assert (model.name, model.source_language) == ("run, step 1,200", "en")
    sentences = ["The old dog sleeps.", "word " * 60]
    first, second = model.answer(sentences)
    best, other = translate_all(translator.translate, sentences)
    assert first.translations[0][0] == best.text
    assert first.translations[0][1] == pytest.approx(best.score, rel=1e-4)
    assert len(first.translations) == translator.search.beam_size
    assert second.tokens_cut == other.source_tokens_cut > 0
    assert first.attention is not None and second.attention is None
    assert first.attention.translation == best.text
    (blank,) = model.answer([" "])
    assert blank.translations[0][0] == "" and blank.attention is None


def test_a_saved_model_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no SavedModel in"):
        answer_with_saved_model(str(tmp_path))
