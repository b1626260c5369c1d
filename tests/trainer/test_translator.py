import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from model.config import SearchConfig
from pipeline.errors import UserError
from pipeline.schema import END_ID, PADDING_ID, Dataset
from tests.trainer.datasets import VOCABULARY_SIZE
from trainer.checkpoints import save_checkpoint
from trainer.learner import Learner
from trainer.run_directory import Run
from trainer.text_ops import load_text_ops
from trainer.translator import (
    Translation,
    Translator,
    load_saved_model,
    load_translator,
    translate_all,
)

SEARCH = SearchConfig(beam_size=2, extra_length=3)
SENTENCES = ["The old dog sleeps.", "", "Why?", "  An \u00fcber   cat \U0001f600 sings loudly. "]


@pytest.fixture
def translator(make_learner: Callable[..., Learner], tiny_dataset: Dataset) -> Translator:
    """An untrained model, sharpened so that no two hypotheses are nearly equal."""
    transformer = make_learner().transformer
    transformer.embedding.matrix.assign(3.0 * transformer.embedding.matrix)
    ops = load_text_ops(tiny_dataset.path("subwords.model"))
    return Translator(transformer, ops, ops, SEARCH)


def shout(text: tf.Tensor) -> dict[str, tf.Tensor]:
    """Stands in for a model, and refuses batches that are too large to be meant."""
    assert text.shape[0] <= 64
    score = tf.cast(tf.strings.length(text), tf.float32)
    return {"translation": tf.strings.upper(text), "score": score}


@pytest.mark.parametrize("number", [0, 1, 63, 64, 65, 200])
def test_translations_come_in_the_order_of_the_sentences(number: int) -> None:
    lengths = np.random.default_rng(number).integers(0, 40, size=number)
    sentences = [f"{row}" + "x" * int(length) for row, length in enumerate(lengths)]
    expected = [Translation(sentence.upper(), len(sentence)) for sentence in sentences]
    assert translate_all(shout, sentences) == expected


def test_batches_hold_sentences_of_similar_length() -> None:
    seen: list[list[int]] = []

    def record(text: tf.Tensor) -> dict[str, tf.Tensor]:
        seen.append([len(sentence) for sentence in text.numpy()])
        return shout(text)

    translate_all(record, ["x" * (row % 40) for row in range(160)])
    lengths = [length for batch in seen for length in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_the_empty_string_is_translated_too(translator: Translator) -> None:
    translations = translate_all(translator.translate, SENTENCES)
    assert len(translations) == len(SENTENCES)
    assert all(np.isfinite(translation.score) for translation in translations)
    assert translate_all(translator.translate, []) == []


def test_a_translation_does_not_depend_on_its_neighbours(translator: Translator) -> None:
    together = translate_all(translator.translate, SENTENCES)
    for sentence, expected in zip(SENTENCES, together, strict=True):
        (alone,) = translate_all(translator.translate, [sentence])
        assert alone.text == expected.text
        assert alone.score == pytest.approx(expected.score, rel=1e-4)


def test_a_translation_is_the_best_of_the_search(translator: Translator) -> None:
    source = translator.source_ops.tokenize(tf.constant(SENTENCES[:1]))
    found = translator.search_ids(source)
    result = translator.translate(tf.constant(SENTENCES[:1]))
    best = [id for id in found.tokens[0, 0].numpy().tolist() if id not in (END_ID, PADDING_ID)]
    text = translator.target_ops.detokenize(tf.constant([best])).numpy()[0]
    assert result["translation"].numpy()[0] == text
    assert float(result["score"][0]) == pytest.approx(float(found.scores[0, 0]), rel=1e-5)
    assert float(found.scores[0, 0]) >= float(found.scores[0, 1])


def test_the_output_is_at_most_so_much_longer_than_the_source(translator: Translator) -> None:
    source = tf.constant([[5, 6, 7, END_ID], [5, END_ID, PADDING_ID, PADDING_ID]])
    tokens = translator.search_ids(source).tokens.numpy()
    lengths = (tokens != PADDING_ID).sum(axis=-1)
    assert (lengths[0] <= 4 + SEARCH.extra_length).all()
    assert (lengths[1] <= 2 + SEARCH.extra_length).all()


def test_a_saved_model_translates_the_same(translator: Translator, tmp_path: Path) -> None:
    signatures = {"serving_default": translator.translate}
    tf.saved_model.save(translator, str(tmp_path / "model"), signatures=signatures)
    loaded = load_saved_model(str(tmp_path / "model"))
    expected = translate_all(translator.translate, SENTENCES)
    for received, wanted in zip(translate_all(loaded, SENTENCES), expected, strict=True):
        assert received.text == wanted.text
        assert received.score == pytest.approx(wanted.score, rel=1e-5)


def test_no_saved_model_is_said_with_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no SavedModel in .*python -m trainer.export"):
        load_saved_model(str(tmp_path))


def test_a_run_is_loaded_with_the_weights_asked_for(
    make_run: Callable[..., Run], make_learner: Callable[..., Learner], tiny_dataset: Dataset
) -> None:
    run = make_run()
    os.makedirs(run.directory)
    shutil.copy(tiny_dataset.path("subwords.model"), run.directory)
    learner = make_learner()
    for step in (1, 2):
        learner.transformer.embedding.matrix.assign_add(tf.ones((VOCABULARY_SIZE, 16)))
        save_checkpoint(run.directory, learner, step=step, train_seconds=0.0, keep=5)
    last, checkpoint = load_translator(run, "last", SEARCH)
    first, _ = load_translator(run, "1", SEARCH)
    assert checkpoint.step == 2
    assert last.search == SEARCH
    matrix = learner.transformer.embedding.matrix.numpy()
    np.testing.assert_array_equal(last.transformer.embedding.matrix, matrix)
    np.testing.assert_allclose(first.transformer.embedding.matrix, matrix - 1, atol=1e-6)
