"""Positional encodings, added to the embeddings (§3.5, Table 3 E)."""

import math
from typing import Any

import keras
from keras import ops

from model import Tensor
from model.config import TransformerConfig
from model.configured import ConfiguredLayer, register


@register
class SinusoidalPositions(ConfiguredLayer):
    """Fixed sinusoids of geometrically growing wavelengths (§3.5), computed in float32.

    Interleaved, as in the paper, position p has sin(p / 10000^(2i/D)) at index 2i and the cosine at
    2i + 1: wavelengths from 2π up to 10000 · 2π exclusive. In halves, as in Tensor2Tensor, it has
    sin(p / 10000^(i/(D/2 - 1))) at index i and the cosine at D/2 + i: up to 10000 · 2π inclusive.

    Args:
        config: its `model_dim` is D.
        name: of the layer.
        interleave: whether sines and cosines alternate; else all sines come first.

    Call arguments:
        positions: int of any shape `[…]`, counted from 0.

    Returns:
        float32 `[…, D]`.
    """

    def __init__(
        self, config: TransformerConfig, name: str | None = None, *, interleave: bool = True
    ) -> None:
        super().__init__(config, name, dtype="float32")
        self.model_dim = config.model_dim
        self.interleave = interleave

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "interleave": self.interleave}

    def call(self, positions: Tensor) -> Tensor:
        count = self.model_dim // 2
        steps = count if self.interleave else max(count - 1, 1)
        exponents = ops.arange(count, dtype="float32") / steps
        frequencies = ops.exp(-math.log(10000.0) * exponents)  # [D/2]
        angles = ops.cast(positions, "float32")[..., None] * frequencies  # […, D/2]
        sines, cosines = ops.sin(angles), ops.cos(angles)
        if not self.interleave:
            return ops.concatenate([sines, cosines], axis=-1)  # […, D]
        pairs = ops.stack([sines, cosines], axis=-1)  # […, D/2, 2]
        return ops.reshape(pairs, (*ops.shape(positions), self.model_dim))


@register
class LearnedPositions(ConfiguredLayer):
    """One learned vector per position (Table 3 E, after Gehring et al. 2017).

    Positions beyond `max_positions` share the last vector.

    Call arguments:
        positions: int of any shape `[…]`, counted from 0.

    Returns:
        float32 `[…, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name, dtype="float32")
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
    if config.positions == "learned":
        return LearnedPositions(config, name="positions")
    interleave = config.positions == "sinusoidal"
    return SinusoidalPositions(config, name="positions", interleave=interleave)
