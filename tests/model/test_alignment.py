"""A translation is aligned by the attention that its own decoding pays to the source."""

import keras
import numpy as np
import pytest
from keras import ops

from model.alignment import align_tokens, default_alignment_layer
from model.attention_maps import attention_maps
from model.masks import PADDING_ID
from model.search.state import Ancestry, Cache
from model.transformer import Transformer, shift_right
from tests.helpers.small_models import (
    BATCH,
    SOURCE,
    TARGET,
    TARGET_LENGTH,
    VOCABULARY,
    fill_with_waves,
    numpy,
    small_config,
)


@pytest.fixture(scope="module")
def transformer() -> Transformer:
    model = Transformer(small_config(encoder_layers=1, decoder_layers=3), VOCABULARY)
    fill_with_waves(model)
    return model


def step_by_step(transformer: Transformer) -> np.ndarray:
    """The last layer's attention [B, T, S] as search sees it, one token of TARGET at a time."""
    past, fixed = transformer.start_search(ops.convert_to_tensor(SOURCE))
    room = ((0, 0), (0, 0), (0, TARGET_LENGTH), (0, 0))
    past = keras.tree.map_structure(lambda x: ops.pad(x, room), past)
    step, read, attention = transformer.make_step(), numpy(shift_right(TARGET)), []
    for position in range(TARGET_LENGTH):
        seen = np.tile(np.arange(TARGET_LENGTH) <= position, (BATCH, 1, 1))
        ancestry = Ancestry(ops.convert_to_tensor(seen), ops.convert_to_tensor(np.int32(position)))
        token = ops.convert_to_tensor(read[:, position : position + 1])
        prediction = step(token, ops.convert_to_tensor(position), ancestry, Cache(past, fixed))
        past = prediction.past
        attention.append(numpy(prediction.attention)[:, 0])
    return np.stack(attention, axis=1)


def test_the_attention_is_that_of_search(transformer: Transformer) -> None:
    aligned = numpy(align_tokens(transformer, SOURCE, TARGET, layer=3).attention)
    real = TARGET != PADDING_ID
    np.testing.assert_allclose(aligned[real], step_by_step(transformer)[real], atol=1e-5)


@pytest.mark.parametrize(("layer", "index"), [(0, 1), (1, 0), (2, 1), (3, 2)])
def test_a_layer_s_heads_are_averaged(transformer: Transformer, layer: int, index: int) -> None:
    maps = numpy(attention_maps(transformer, SOURCE, TARGET).memory)
    attention = numpy(align_tokens(transformer, SOURCE, TARGET, layer=layer).attention)
    np.testing.assert_allclose(attention, maps[index].mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(attention.sum(axis=-1), 1.0, atol=1e-5)


def test_the_default_is_the_last_layer_but_one_and_the_last_of_a_shallow_decoder() -> None:
    assert [default_alignment_layer(layers) for layers in (1, 2, 3, 6)] == [1, 2, 2, 5]


def test_tokens_are_scored_too(transformer: Transformer) -> None:
    received = numpy(align_tokens(transformer, SOURCE, TARGET).log_probs)
    np.testing.assert_allclose(received, numpy(transformer.token_log_probs(SOURCE, TARGET)))
