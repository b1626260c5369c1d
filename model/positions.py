"""Positional encodings, added to the embeddings (§3.5, Table 3 E)."""

import math
from typing import Any

import keras
from keras import ops

from model import Tensor
from model.config import TransformerConfig


class SinusoidalPositions(keras.layers.Layer):
    """Fixed sinusoids of geometrically growing wavelengths, 2π to 10000 · 2π (§3.5).

    Position p has sin(p / 10000^(2i/D)) at index 2i and the cosine at index 2i + 1, in float32.

    Call arguments:
        positions: int of any shape `[…]`, counted from 0.

    Returns:
        float32 `[…, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str) -> None:
        super().__init__(name=name, dtype="float32")
        self.model_dim = config.model_dim

    def call(self, positions: Tensor) -> Tensor:
        angles = _angles(positions, self.model_dim // 2, steps=self.model_dim // 2)
        pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)  # […, D/2, 2]
        return ops.reshape(pairs, (*ops.shape(positions), self.model_dim))


class HalvedSinusoidalPositions(keras.layers.Layer):
    """Tensor2Tensor's sinusoids: all sines before all cosines, up to 10000 · 2π itself.

    Position p has sin(p / 10000^(i/(D/2 - 1))) at index i and the cosine at index D/2 + i.

    Call arguments:
        positions: int of any shape `[…]`, counted from 0.

    Returns:
        float32 `[…, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str) -> None:
        super().__init__(name=name, dtype="float32")
        self.model_dim = config.model_dim

    def call(self, positions: Tensor) -> Tensor:
        angles = _angles(positions, self.model_dim // 2, steps=max(self.model_dim // 2 - 1, 1))
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)


class LearnedPositions(keras.layers.Layer):
    """One learned vector per position (Table 3 E, after Gehring et al. 2017).

    Positions beyond `max_positions` share the last vector.

    Call arguments:
        positions: int of any shape `[…]`, counted from 0.

    Returns:
        float32 `[…, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str) -> None:
        super().__init__(name=name, dtype="float32")
        self.model_dim = config.model_dim
        self.max_positions = config.max_positions

    def build(self, input_shape: Any = None) -> None:
        self.vectors = self.add_weight(
            shape=(self.max_positions, self.model_dim),
            initializer=keras.initializers.RandomNormal(stddev=self.model_dim**-0.5),
            name="vectors",
        )

    def call(self, positions: Tensor) -> Tensor:
        return ops.take(self.vectors, ops.minimum(positions, self.max_positions - 1), axis=0)


def make_positions(config: TransformerConfig) -> keras.layers.Layer:
    """Makes the positional encoding that `config.positions` names."""
    layers: dict[str, type[keras.layers.Layer]] = {
        "sinusoidal": SinusoidalPositions,
        "sinusoidal_halves": HalvedSinusoidalPositions,
        "learned": LearnedPositions,
    }
    return layers[config.positions](config, name="positions")


def _angles(positions: Tensor, count: int, *, steps: int) -> Tensor:
    """Divides positions, int `[…]`, by 10000^(i / steps) for i below `count`: `[…, count]`."""
    exponents = ops.arange(count, dtype="float32") / steps
    frequencies = ops.exp(-math.log(10000.0) * exponents)
    return ops.cast(positions, "float32")[..., None] * frequencies
