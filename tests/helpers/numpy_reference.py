"""The paper's Transformer in NumPy float64, as a reference for `model`.

Written from the paper's equations for one unpadded sentence: loops over heads and queries where
the model reshapes, and keys that may not be seen are left out where the model masks them. It
shares nothing with the model but the weights.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Array = np.ndarray


def weight(variable: Any) -> Array:
    return np.asarray(variable, dtype=np.float64)


def attend(query: Array, key: Array, value: Array, visible: Array) -> Array:
    """Equation 1: `[T, K]`, `[S, K]`, `[S, K']` and bool `[T, S]` to `[T, K']`."""
    rows = []
    for t in range(len(query)):
        seen = np.flatnonzero(visible[t])
        scores = np.array([math.exp(query[t] @ key[s] / math.sqrt(query.shape[1])) for s in seen])
        rows.append(scores / scores.sum() @ value[seen])
    return np.array(rows)


def multi_head(layer: Any, query: Array, memory: Array, visible: Array) -> Array:
    """§3.2.2: one head at a time, `[T, D]` and `[S, D]` to `[T, D]`."""
    heads = [
        attend(
            query @ _head(layer.query, layer.num_heads, head),
            memory @ _head(layer.key, layer.num_heads, head),
            memory @ _head(layer.value, layer.num_heads, head),
            visible,
        )
        for head in range(layer.num_heads)
    ]
    return np.concatenate(heads, axis=1) @ weight(layer.output_projection.kernel)


def self_attention(layer: Any, x: Array, visible: Array) -> Array:
    return multi_head(layer, x, x, visible)


def _head(projection: Any, num_heads: int, head: int) -> Array:
    return np.split(weight(projection.kernel), num_heads, axis=1)[head]


def layer_norm(layer: Any, x: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-6)
    return centred / deviation * weight(layer.gamma) + weight(layer.beta)


def feed_forward(layer: Any, x: Array) -> Array:
    """§3.3, equation 2."""
    inner = np.maximum(0.0, x @ weight(layer.inner.kernel) + weight(layer.inner.bias))
    return inner @ weight(layer.outer.kernel) + weight(layer.outer.bias)


def residual(layer: Any, norm: str, x: Array, sublayer: Callable[[Array], Array]) -> Array:
    if norm == "pre":
        return x + sublayer(layer_norm(layer.norm, x))
    return layer_norm(layer.norm, x + sublayer(x))


def encode(encoder: Any, norm: str, x: Array, window: int = 0) -> Array:
    """Figure 1 left, `[S, D]` to `[S, D]`; with a window, of that many positions (§4)."""
    near = [[not window or abs(s - t) <= window // 2 for s in range(len(x))] for t in range(len(x))]
    for layer in encoder.layers:
        x = residual(
            layer.self_attention_residual,
            norm,
            x,
            partial(self_attention, layer.self_attention, visible=np.array(near)),
        )
        x = residual(
            layer.feed_forward_residual, norm, x, partial(feed_forward, layer.feed_forward)
        )
    return layer_norm(encoder.last_norm, x) if norm == "pre" else x


def decode(decoder: Any, norm: str, x: Array, memory: Array) -> Array:
    """Figure 1 right, `[T, D]` and `[S, D]` to `[T, D]`."""
    past = np.array([[s <= t for s in range(len(x))] for t in range(len(x))])
    everything = np.ones((len(x), len(memory)), bool)
    for layer in decoder.layers:
        x = residual(
            layer.self_attention_residual,
            norm,
            x,
            partial(self_attention, layer.self_attention, visible=past),
        )
        x = residual(
            layer.memory_attention_residual,
            norm,
            x,
            partial(multi_head, layer.memory_attention, memory=memory, visible=everything),
        )
        x = residual(
            layer.feed_forward_residual, norm, x, partial(feed_forward, layer.feed_forward)
        )
    return layer_norm(decoder.last_norm, x) if norm == "pre" else x


def position(index: int, model_dim: int) -> list[float]:
    """§3.5, in float64."""
    vector = []
    for i in range(model_dim // 2):
        angle = index / 10000 ** (2 * i / model_dim)
        vector += [math.sin(angle), math.cos(angle)]
    return vector


def position_halves(index: int, model_dim: int) -> list[float]:
    """Tensor2Tensor's sinusoids, in float64."""
    half = model_dim // 2
    angles = [index / 10000 ** (i / (half - 1)) for i in range(half)]
    return [*map(math.sin, angles), *map(math.cos, angles)]


def transform(model: Any, source: list[int], target: list[int]) -> Array:
    """Logits `[T, V]` of a target given its source, both unpadded, with sinusoids."""
    config, matrix = model.config, weight(model.embedding.matrix)
    place = {"sinusoidal": position, "sinusoidal_halves": position_halves}[config.positions]

    def embed(tokens: list[int]) -> Array:
        size = matrix.shape[1]
        rows = matrix.copy()
        if config.padding_embedding == "zeros":
            rows[0] = 0.0
        return np.array(
            [math.sqrt(size) * rows[token] + place(p, size) for p, token in enumerate(tokens)]
        )

    embedded = embed(source)
    if config.target_space:
        embedded += weight(model.target_space.vector)
    memory = encode(model.encoder, config.norm, embedded, config.attention_window)
    return decode(model.decoder, config.norm, embed([0, *target[:-1]]), memory) @ matrix.T
