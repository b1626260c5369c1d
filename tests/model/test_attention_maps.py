"""The weights that are shown are those that the model attends with."""

from collections.abc import Iterator

import numpy as np
import pytest
from keras import ops

from model import Tensor, attention
from model.attention import MultiHeadAttention, attention_weights
from model.attention_maps import AttentionMaps, attention_maps
from model.masks import PADDING_ID
from model.transformer import Transformer
from tests.helpers.small_models import (
    BATCH,
    SOURCE,
    SOURCE_LENGTH,
    TARGET,
    TARGET_LENGTH,
    VOCABULARY,
    fill_with_waves,
    numpy,
    small_config,
    wave,
)

LAYERS, HEADS = 2, 2


@pytest.fixture(scope="module", params=["post", "pre"])
def transformer(request: pytest.FixtureRequest) -> Iterator[Transformer]:
    model = Transformer(small_config(norm=request.param), VOCABULARY)
    fill_with_waves(model)
    yield model


@pytest.fixture(scope="module")
def maps(transformer: Transformer) -> AttentionMaps:
    return AttentionMaps(*map(numpy, attention_maps(transformer, SOURCE, TARGET)))


def test_weights_average_the_values_to_what_attention_gives() -> None:
    layer = MultiHeadAttention(small_config(), name="attention")
    layer.build()
    fill_with_waves(layer)
    query, memory = wave(BATCH, TARGET_LENGTH, 8), wave(BATCH, SOURCE_LENGTH, 8, phase=1.0)
    mask = (SOURCE != PADDING_ID)[:, None, None, :]
    key, value = layer.project(memory)
    weights = attention_weights(layer.project_query(query), key, mask)
    heads = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))  # [B, T, H, K]
    output = layer.output_projection(ops.reshape(heads, (BATCH, TARGET_LENGTH, -1)))
    np.testing.assert_allclose(numpy(output), numpy(layer(query, memory, mask)), atol=1e-6)


def test_maps_have_every_layer_and_head(maps: AttentionMaps) -> None:
    every = (LAYERS, BATCH, HEADS)
    assert maps.encoder.shape == (*every, SOURCE_LENGTH, SOURCE_LENGTH)
    assert maps.decoder.shape == (*every, TARGET_LENGTH, TARGET_LENGTH)
    assert maps.memory.shape == (*every, TARGET_LENGTH, SOURCE_LENGTH)


def test_each_stack_has_maps_of_its_own_layers() -> None:
    model = Transformer(small_config(encoder_layers=3, decoder_layers=1), VOCABULARY)
    layers = [len(maps) for maps in attention_maps(model, SOURCE, TARGET)]
    assert layers == [3, 1, 1]


def test_maps_are_those_of_the_forward_pass(
    transformer: Transformer, maps: AttentionMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the softmaxes that an ordinary call computes: encoder, then self, memory, self, …"""
    softmaxes = []

    def softmax(x: Tensor) -> Tensor:
        softmaxes.append(ops.softmax(x, axis=-1))
        return softmaxes[-1]

    monkeypatch.setattr(attention, "softmax", softmax)
    transformer(SOURCE, TARGET)
    seen = [
        *maps.encoder,
        *(
            layer_maps
            for layers in zip(maps.decoder, maps.memory, strict=True)
            for layer_maps in layers
        ),
    ]
    assert len(softmaxes) == len(seen)
    for computed, shown in zip(softmaxes, seen, strict=True):
        np.testing.assert_allclose(shown, numpy(computed), atol=1e-6)


def test_real_tokens_attend_only_to_real_tokens(maps: AttentionMaps) -> None:
    for row in range(BATCH):
        source, target = SOURCE[row] != PADDING_ID, TARGET[row] != PADDING_ID
        memory = maps.memory[:, row][:, :, target]  # [N, H, real T, S]
        np.testing.assert_allclose(memory.sum(axis=-1), 1.0, atol=1e-6)
        assert not memory[..., ~source].any()
        assert not np.triu(maps.decoder[:, row][:, :, target], k=1).any()


def test_watching_leaves_the_model_unchanged(transformer: Transformer) -> None:
    layer = transformer.encoder.layers[0].self_attention
    attention_maps(transformer, SOURCE, TARGET)
    assert "attend" not in vars(layer)
    with pytest.raises(Exception, match="Incompatible shapes"):
        attention_maps(transformer, SOURCE, TARGET[:2])
    assert "attend" not in vars(layer)
