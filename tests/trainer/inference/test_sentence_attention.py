"""Attention is that of the translation which the model gives."""

import dataclasses
import shutil

import numpy as np
import pytest

from model.attention_maps import AttentionMaps
from model.config import SearchConfig
from pipeline.dataset.schema import SIDES, Dataset
from trainer.config import TrainingConfig
from trainer.inference.batching import translate_all
from trainer.inference.sentence_attention import (
    END,
    START,
    SentenceAttention,
    attend_to_sentences,
    attention_image,
)
from trainer.inference.translator import Translator, make_transformer, make_translator
from trainer.runs.run_directory import Run, configure_run

SENTENCES = ["The old dog sleeps.", "Why?"]
HEADS = 2


@pytest.fixture(scope="module")
def attended(
    tiny_dataset: Dataset, translator: Translator, tmp_path_factory: pytest.TempPathFactory
) -> list[SentenceAttention]:
    training = TrainingConfig(
        dataset_dir=str(tiny_dataset.directory), run_dir=str(tmp_path_factory.mktemp("run"))
    )
    config = translator.transformer.config
    run = configure_run(config, training, translator.search, tiny_dataset)
    for side in SIDES:
        shutil.copy(tiny_dataset.path(run.data.vocabularies[side].path), run.subwords_path(side))
    return attend_to_sentences(run, translator, SENTENCES)


def test_sentences_come_with_the_translation_that_is_attended_for(
    translator: Translator, attended: list[SentenceAttention]
) -> None:
    translations = translate_all(translator.translate, SENTENCES)
    assert [sentence.text for sentence in attended] == SENTENCES
    assert [sentence.translation for sentence in attended] == [
        translation.text for translation in translations
    ]
    for sentence in attended:
        assert "".join(sentence.source[:-1]).replace("▁", " ").strip() == sentence.text
        assert sentence.source[-1] == sentence.target[-1] == END
        assert sentence.target_read == [START, *sentence.target[:-1]]


def test_a_sentence_is_cut_where_the_translation_s_source_is(
    tiny_run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    search = SearchConfig(beam_size=2, extra_length=3, max_source_length=4)
    run = dataclasses.replace(tiny_run, search=search)
    (sentence,) = attend_to_sentences(
        run, make_translator(run, make_transformer(run)), ["The old dog sleeps."]
    )
    assert len(sentence.source) == 4
    assert sentence.source[-1] == END
    assert sentence.maps.encoder.shape == (1, HEADS, 4, 4)
    assert "--max_source_length" in caplog.text


def test_weights_belong_to_the_subwords(attended: list[SentenceAttention]) -> None:
    for sentence in attended:
        source, target = len(sentence.source), len(sentence.target)
        assert sentence.maps.encoder.shape == (1, HEADS, source, source)
        assert sentence.maps.decoder.shape == (1, HEADS, target, target)
        assert sentence.maps.memory.shape == (1, HEADS, target, source)
        for weights in sentence.maps:
            np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-5)


def test_image_has_a_row_for_each_layer_and_a_column_for_each_head() -> None:
    layers, heads, queries, keys, pixels = 2, 3, 4, 5, 2
    memory = np.zeros((layers, heads, queries, keys), np.float32)
    memory[1, 2, 3, 0] = 1.0
    maps = AttentionMaps(encoder=None, decoder=None, memory=memory)
    image = attention_image(maps, "memory", pixels=pixels)
    rows, columns = pixels * (queries + 1), pixels * (keys + 1)  # with a frame
    assert image.shape == (1, layers * rows, heads * columns, 1)
    top, left = rows + pixels * 3, 2 * columns
    black = np.argwhere(image[0, :, :, 0] == 0)
    assert black.min(axis=0).tolist() == [top, left]
    assert black.max(axis=0).tolist() == [top + pixels - 1, left + pixels - 1]
    assert (image[0, :, :, 0] == 255).sum() == pixels**2 * (memory.size - 1)
