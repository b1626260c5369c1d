"""Attention and whole layers against PyTorch's, weights for weights."""

import importlib.util
from typing import Any

import numpy as np
import pytest
from keras import ops

from model.attention import MultiHeadAttention, scaled_dot_product_attention
from model.config import TransformerConfig
from model.decoder import DecoderLayer
from model.encoder import EncoderLayer
from model.masks import causal_mask
from tests.helpers.small_models import numpy
from tests.helpers.torch_layers import BASE, GOLDENS, NORMS, SMALL, Arrays, Sizes, compute

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="no PyTorch: pip install '.[goldens]' recomputes the golden values",
)
Case = tuple[Sizes, Arrays]


@pytest.fixture(
    scope="module",
    params=[
        "stored",
        pytest.param("small", marks=needs_torch),
        pytest.param("base", marks=needs_torch),
    ],
)
def case(request: pytest.FixtureRequest) -> Case:
    """Stored golden values; the same kind from PyTorch now; and those of the base model's size."""
    if request.param == "stored":
        with np.load(GOLDENS) as arrays:
            return SMALL, dict(arrays)
    if request.param == "small":
        return SMALL, compute(SMALL, seed=2)
    return BASE, compute(BASE, seed=3)


@needs_torch
def test_stored_values_are_pytorchs() -> None:
    with np.load(GOLDENS) as stored:
        computed = compute(SMALL, seed=1)
        assert {*stored} == {*computed}
        for name, values in computed.items():
            np.testing.assert_allclose(stored[name], values, atol=1e-6, err_msg=name)


def test_attention_is_pytorchs(case: Case) -> None:
    _, arrays = case
    attended, _ = scaled_dot_product_attention(
        *(arrays[f"attention.{name}"] for name in ("query", "key", "value", "mask"))
    )
    np.testing.assert_allclose(numpy(attended), arrays["attention.output"], atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_encoder_layer_is_pytorchs(case: Case, norm: str) -> None:
    sizes, arrays = case
    layer: Any = EncoderLayer(make_config(sizes, norm), name="layer")
    layer.build()
    weights = weights_of("encoder", arrays)
    load_attention(layer.self_attention, weights, "self_attn")
    load_feed_forward(layer, weights)
    load_norms([layer.self_attention_residual, layer.feed_forward_residual], weights)
    encoded = layer(arrays["encoder.memory"], attention_mask=visible("encoder", arrays))
    np.testing.assert_allclose(numpy(encoded), arrays[f"encoder.output.{norm}"], atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_decoder_layer_is_pytorchs(case: Case, norm: str) -> None:
    sizes, arrays = case
    layer: Any = DecoderLayer(make_config(sizes, norm), name="layer")
    layer.build()
    weights = weights_of("decoder", arrays)
    load_attention(layer.self_attention, weights, "self_attn")
    load_attention(layer.memory_attention, weights, "multihead_attn")
    load_feed_forward(layer, weights)
    residuals = [layer.self_attention_residual, layer.memory_attention_residual]
    load_norms([*residuals, layer.feed_forward_residual], weights)
    decoded = layer(
        arrays["decoder.target"],
        arrays["decoder.memory"],
        self_mask=causal_mask(sizes.target_length),
        memory_mask=visible("decoder", arrays),
    )
    np.testing.assert_allclose(numpy(decoded), arrays[f"decoder.output.{norm}"], atol=1e-5)


def make_config(sizes: Sizes, norm: Any) -> TransformerConfig:
    return TransformerConfig(
        model_dim=sizes.model_dim,
        num_heads=sizes.num_heads,
        feed_forward_dim=sizes.feed_forward_dim,
        norm=norm,
    )


def visible(kind: str, arrays: Arrays) -> Any:
    """PyTorch's mask is True where nothing may look, ours where it may."""
    return ops.convert_to_tensor(~arrays[f"{kind}.padding"][:, None, None, :])


def weights_of(kind: str, arrays: Arrays) -> Arrays:
    prefix = f"{kind}.weights."
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def load_attention(attention: MultiHeadAttention, weights: Arrays, name: str) -> None:
    """PyTorch multiplies by transposed matrices, and keeps those of q, k and v in one."""
    query, key, value = np.split(weights[f"{name}.in_proj_weight"], 3)
    attention.query.kernel.assign(query.T)
    attention.key.kernel.assign(key.T)
    attention.value.kernel.assign(value.T)
    attention.output_projection.kernel.assign(weights[f"{name}.out_proj.weight"].T)


def load_feed_forward(layer: Any, weights: Arrays) -> None:
    for dense, name in [
        (layer.feed_forward.inner, "linear1"),
        (layer.feed_forward.outer, "linear2"),
    ]:
        dense.kernel.assign(weights[f"{name}.weight"].T)
        dense.bias.assign(weights[f"{name}.bias"])


def load_norms(residuals: list[Any], weights: Arrays) -> None:
    for number, residual in enumerate(residuals, start=1):
        residual.norm.gamma.assign(weights[f"norm{number}.weight"])
        residual.norm.beta.assign(weights[f"norm{number}.bias"])
