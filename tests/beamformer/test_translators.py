"""A loaded model translates, scores, evaluates and shows its attention."""

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import beamformer as bf
from pipeline.dataset.schema import Dataset
from tests.helpers.page_parsing import Page

SENTENCES = ["The old dog sleeps in the garden.", "He sees the house.", ""]


@pytest.fixture(scope="module")
def trained(run_dir: Path) -> bf.TrainedTranslator:
    model = bf.load(run_dir)
    assert isinstance(model, bf.TrainedTranslator)
    return model


@pytest.fixture(scope="module")
def exported(run_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> bf.ExportedTranslator:
    from trainer.exporters.driver import ExportConfig, export_run
    from trainer.runs.run_directory import load_run
    from trainer.runs.trained_model import TrainedModels

    directory = str(tmp_path_factory.mktemp("export") / "1")
    run = load_run(run_dir)
    config = ExportConfig(output_dir=directory)
    export_run(run, TrainedModels(str(run_dir)), run.search, config)
    model = bf.load(directory)
    assert isinstance(model, bf.ExportedTranslator)
    return model


def test_a_run_and_its_export_translate_and_score_alike(
    trained: bf.TrainedTranslator, exported: bf.ExportedTranslator
) -> None:
    translations = trained.translate(SENTENCES)
    texts = [translation.text for translation in translations]
    served = exported.translate(SENTENCES)
    assert [translation.text for translation in served] == texts
    scores = [translation.score for translation in translations]
    np.testing.assert_allclose([translation.score for translation in served], scores, rtol=1e-4)

    pairs = SENTENCES[:2], ["Der Hund schläft.", "Er sieht das Haus."]
    ours, theirs = trained.score(*pairs), exported.score(*pairs)
    assert len(ours) == len(theirs) == 2
    for own, other in zip(ours, theirs, strict=True):
        assert own.log_prob == pytest.approx(sum(own.token_log_probs))
        assert own[:2] == pytest.approx(other[:2], rel=1e-4)
    assert ours[0].tokens[-1] == "</s>"


def test_words_are_aligned_if_asked_for(
    trained: bf.TrainedTranslator, exported: bf.ExportedTranslator
) -> None:
    ours, served = (model.translate(SENTENCES, alignments=True) for model in (trained, exported))
    for own, other in zip(ours, served, strict=True):
        words = len(own.text.split())
        assert own.alignment is not None is not own.word_confidence
        assert [target for _, target in own.alignment] == list(range(words))
        assert len(own.word_confidence) == words
        assert other.alignment == own.alignment
        assert other.word_confidence == pytest.approx(own.word_confidence, rel=1e-3)
    assert trained.translate(SENTENCES[:1])[0].alignment is None
    for model in (trained, exported):
        with pytest.raises(bf.UserError, match="alignments=True and prefixes: expected one"):
            model.translate(["a"], ["b"], alignments=True)
    with pytest.raises(bf.UserError, match="received --alignment_layer=9: expected at most 1"):
        bf.load(trained.run.directory, alignment_layer=9)


def test_translations_begin_with_their_prefixes(
    trained: bf.TrainedTranslator, exported: bf.ExportedTranslator
) -> None:
    prefixes = ["Der Hund", "Er"]
    for model in (trained, exported):
        translations = model.translate(SENTENCES[:2], prefixes)
        for translation, prefix in zip(translations, prefixes, strict=True):
            assert translation.text.startswith(prefix)


def test_search_is_chosen_when_loading(run_dir: Path) -> None:
    model = bf.load(run_dir, n_best=3, beam_size=3)
    assert isinstance(model, bf.TrainedTranslator)
    assert (model.search.beam_size, model.search.extra_length) == (3, 3)
    (translation,) = model.translate(SENTENCES[:1])
    assert len(translation.n_best) == 3
    with pytest.raises(bf.UserError, match="prefixes and --n_best=3: expected --n_best=1"):
        model.translate(["a"], ["b"])


def test_an_evaluation_is_that_of_the_command(
    trained: bf.TrainedTranslator, dataset: Dataset, tmp_path: Path
) -> None:
    evaluation = trained.evaluate("test", resamples=0, output_dir=tmp_path)
    written = json.loads((tmp_path / "evaluation-test.json").read_text("utf-8"))
    assert json.loads(json.dumps(evaluation.result.to_json())) == written
    assert evaluation.scores["bleu"] == evaluation.result.scores.metrics["bleu"].score
    assert len(evaluation.rows) == dataset.splits["test"].pairs
    assert str(evaluation).startswith("test: BLEU ")
    assert html.unescape(evaluation._repr_html_()) == f"<pre>{evaluation}</pre>"


def test_attention_shows_itself_as_a_page_of_its_own(
    trained: bf.TrainedTranslator, tmp_path: Path
) -> None:
    attention = trained.attention("The old dog sleeps.")
    frame = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" .*', str(attention._repr_html_())
    )
    assert frame
    page = html.unescape(frame[1])
    assert page == attention.html
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org", "", page), "loads nothing"
    assert '"name":"Decoder to encoder"' in Page(page).texts("script")[0]
    assert (
        attention.sentences[0].source
        == trained.attention("The old dog sleeps.").sentences[0].source
    )
    attention.save(tmp_path / "attention.html")
    assert (tmp_path / "attention.html").read_text("utf-8") == page
    assert "The old dog sleeps. → " in repr(attention)


def test_mistakes_are_explained(
    trained: bf.TrainedTranslator, exported: bf.ExportedTranslator, tmp_path: Path
) -> None:
    for model in (trained, exported):
        with pytest.raises(bf.UserError, match="received 'a': expected a list of strings"):
            model.translate("a")
        with pytest.raises(bf.UserError, match="received 1 sentences and 2 strings for them"):
            model.score(["a"], ["b", "c"])
    with pytest.raises(bf.UserError, match="unknown flag --beams; nearest: --beam_size"):
        bf.load(trained.run.directory, beams=3)
    with pytest.raises(bf.UserError, match="fixed by trainer.export"):
        bf.load(exported.directory, beam_size=3)
    with pytest.raises(bf.UserError, match="no run in"):
        bf.load(tmp_path)
    with pytest.raises(bf.UserError, match="unknown flag --resample; nearest: --resamples"):
        trained.evaluate("test", resample=0)


def test_running_text_is_translated_sentence_by_sentence(
    trained: bf.TrainedTranslator, exported: bf.ExportedTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def load_splitter(language: str) -> Callable[[str], list[str]]:
        asked.append(language)
        return lambda text: re.split(r"(?<=[.]) ", text)

    monkeypatch.setattr("trainer.inference.documents.load_splitter", load_splitter)
    text = f"\n{SENTENCES[0]} {SENTENCES[1]}\n\n{SENTENCES[1]}"
    first, second, _ = (translation.text for translation in trained.translate(SENTENCES))
    assert trained.translate_text(text) == f"\n{first} {second}\n\n{second}"
    assert exported.translate_text(text) == f"\n{first} {second}\n\n{second}"
    assert asked == ["en", "en"]
