"""Attention is that of the translation which the model gives."""

import dataclasses

import numpy as np
import pytest

from model.attention_maps import AttentionMaps
from model.config import SearchConfig
from trainer.inference.batching import translate_all
from trainer.inference.sentence_attention import (
    END,
    START,
    SentenceAttention,
    attend_to_sentences,
    attention_image,
)
from trainer.inference.translator import Translator, make_transformer, make_translator
from trainer.runs.run_directory import Run

SENTENCES = ["The old dog sleeps.", "Why?"]
HEADS = 2


@pytest.fixture
def translator(tiny_run: Run) -> Translator:
    search = SearchConfig(beam_size=2, extra_length=3)
    return make_translator(dataclasses.replace(tiny_run, search=search), make_transformer(tiny_run))


@pytest.fixture
def seen(tiny_run: Run, translator: Translator) -> list[SentenceAttention]:
    return attend_to_sentences(tiny_run, translator, SENTENCES)


def test_sentences_come_with_the_translation_that_is_attended_for(
    translator: Translator, seen: list[SentenceAttention]
) -> None:
    translations = translate_all(translator.translate, SENTENCES)
    assert [each.text for each in seen] == SENTENCES
    assert [each.translation for each in seen] == [each.text for each in translations]
    for each in seen:
        assert "".join(each.source[:-1]).replace("▁", " ").strip() == each.text
        assert each.source[-1] == each.target[-1] == END
        assert each.target_read == [START, *each.target[:-1]]


def test_a_sentence_is_cut_where_the_translation_s_source_is(
    tiny_run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    search = SearchConfig(beam_size=2, extra_length=3, max_source_length=4)
    run = dataclasses.replace(tiny_run, search=search)
    (seen,) = attend_to_sentences(
        run, make_translator(run, make_transformer(run)), ["The old dog sleeps."]
    )
    assert len(seen.source) == 4
    assert seen.source[-1] == END
    assert seen.maps.encoder.shape == (1, HEADS, 4, 4)
    assert "--max_source_length" in caplog.text


def test_weights_belong_to_the_subwords(seen: list[SentenceAttention]) -> None:
    for each in seen:
        source, target = len(each.source), len(each.target)
        assert each.maps.encoder.shape == (1, HEADS, source, source)
        assert each.maps.decoder.shape == (1, HEADS, target, target)
        assert each.maps.memory.shape == (1, HEADS, target, source)
        for weights in each.maps:
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
