"""PyTorch's attention and Transformer layers as an independent reference implementation.

    python -m tests.helpers.torch_layers

writes `goldens/torch_layers.npz`: inputs, weights under PyTorch's names, and outputs, of torch
2.13.0+cpu in float32 on x86-64. The tests read that file, and need PyTorch itself, the extra
`goldens`, only to recompute them.

PyTorch's attention has biases, the paper's and ours has none (§3.2.2): they are zeros here.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray
Arrays = dict[str, Array]

GOLDENS = Path(__file__).parent / "goldens" / "torch_layers.npz"
NORMS = ("post", "pre")


class Sizes(NamedTuple):
    """Lengths and widths; PyTorch has d_k = d_v = d_model / heads."""

    batch: int
    source_length: int
    target_length: int
    model_dim: int
    num_heads: int
    feed_forward_dim: int


SMALL = Sizes(3, 6, 4, 12, 2, 20)
BASE = Sizes(2, 9, 7, 512, 8, 2048)


def compute(sizes: Sizes, seed: int) -> Arrays:
    """Draws inputs and weights and runs PyTorch's functions and layers on them."""
    random = np.random.default_rng(seed)
    return {
        **_attention(sizes, random),
        **_layer("encoder", sizes, random),
        **_layer("decoder", sizes, random),
    }


def _attention(sizes: Sizes, random: np.random.Generator) -> Arrays:
    import torch

    batch, source, target, model_dim, heads, _ = sizes
    key_dim, value_dim = model_dim // heads, model_dim // heads + 1
    arrays = {
        "attention.query": _normal(random, batch, heads, target, key_dim),
        "attention.key": _normal(random, batch, heads, source, key_dim),
        "attention.value": _normal(random, batch, heads, source, value_dim),
        "attention.mask": random.random((batch, 1, target, source)) < 0.6,
    }
    arrays["attention.mask"][..., 0] = True  # True at least once for each query
    attended = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(arrays[f"attention.{name}"]) for name in ("query", "key", "value")),
        attn_mask=torch.from_numpy(arrays["attention.mask"]),
    )
    return {**arrays, "attention.output": attended.numpy()}


def _layer(kind: str, sizes: Sizes, random: np.random.Generator) -> Arrays:
    """Runs an encoder or decoder layer, post-norm and pre-norm, on the same weights."""
    import torch

    batch, source, target, model_dim, heads, feed_forward_dim = sizes
    memory = _normal(random, batch, source, model_dim)
    lengths = random.integers(1, source, batch)
    lengths[0] = source
    padding = np.arange(source) >= lengths[:, None]  # True where PyTorch must not attend
    inputs = {"memory": memory, "padding": padding}
    if kind == "decoder":
        inputs["target"] = _normal(random, batch, target, model_dim)
    weights: Arrays = {}
    outputs: Arrays = {}
    for norm in NORMS:
        make = {
            "encoder": torch.nn.TransformerEncoderLayer,
            "decoder": torch.nn.TransformerDecoderLayer,
        }[kind]
        layer: Any = make(
            model_dim,
            heads,
            feed_forward_dim,
            dropout=0.0,
            layer_norm_eps=1e-6,
            batch_first=True,
            norm_first=norm == "pre",
        )
        weights = weights or _draw_weights(layer.state_dict(), random)
        layer.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        with torch.no_grad():
            outputs[f"output.{norm}"] = _run(kind, layer, tensors).numpy()
    arrays = {**inputs, **outputs, **{f"weights.{name}": array for name, array in weights.items()}}
    return {f"{kind}.{name}": array for name, array in arrays.items()}


def _run(kind: str, layer: Any, inputs: dict[str, Any]) -> Any:
    """Runs the layer in training mode, without dropout: inference has another, fused path."""
    import torch

    if kind == "encoder":
        return layer(inputs["memory"], src_key_padding_mask=inputs["padding"])
    length = inputs["target"].shape[1]
    return layer(
        inputs["target"],
        inputs["memory"],
        tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
        memory_key_padding_mask=inputs["padding"],
    )


def _draw_weights(state: dict[str, Any], random: np.random.Generator) -> Arrays:
    """Draws all weights, scales of norms around 1, and zeros for attention's biases."""
    weights = {}
    for name, tensor in state.items():
        centre = 1.0 if name.startswith("norm") and name.endswith("weight") else 0.0
        spread = 0.3 if tensor.ndim == 1 else tensor.shape[-1] ** -0.5
        weights[name] = (centre + spread * _normal(random, *tensor.shape)).astype(np.float32)
        if "attn" in name and name.endswith("bias"):
            weights[name] = np.zeros(tensor.shape, np.float32)
    return weights


def _normal(random: np.random.Generator, *shape: int) -> Array:
    return random.normal(size=shape).astype(np.float32)


if __name__ == "__main__":
    np.savez_compressed(GOLDENS, **compute(SMALL, seed=1))  # type: ignore[arg-type]
