"""Sublayers: feed-forward network, residual connection, dropout (§3.1, §3.3, §5.4)."""

from collections.abc import Callable
from typing import Any

import keras

from model import Tensor
from model.config import TransformerConfig
from model.configured import ConfiguredLayer, register
from model.kernels.linear import Linear
from model.kernels.tensorflow_ops import dropout


@register
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` (§5.4), with half as many random bits (`model.kernels`).

    Call arguments:
        x: float, of any shape.
        training: whether dropout is active.

    Returns:
        float, of the same shape.
    """

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        return dropout(x, self.rate, self.seed_generator) if training and self.rate else x


@register
class FeedForward(ConfiguredLayer):
    """Two linear maps with a ReLU between them, the same at every position (§3.3).

    Call arguments:
        x: float `[B, T, D]`.
        training: whether dropout after the ReLU is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name)
        self.model_dim = config.model_dim
        self.feed_forward_dim = config.feed_forward_dim
        self.inner = Linear(self.feed_forward_dim, activation="relu", name="inner")
        self.dropout = Dropout(config.relu_dropout, name="dropout")
        self.outer = Linear(self.model_dim, name="outer")

    def build(self, input_shape: Any = None) -> None:
        self.inner.build((None, None, self.model_dim))
        self.outer.build((None, None, self.feed_forward_dim))

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        return self.outer(self.dropout(self.inner(x), training=training))


@register
class Residual(ConfiguredLayer):
    """A residual connection around a sublayer, with dropout and layer normalization (§3.1, §5.4).

    With `norm="post"`, as in the paper, LayerNorm(x + Dropout(sublayer(x))); with `norm="pre"`,
    x + Dropout(sublayer(LayerNorm(x))).

    Call arguments:
        x: float `[B, T, D]`.
        sublayer: function of `[B, T, D]` that returns `[B, T, D]`.
        training: whether dropout is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name)
        self.model_dim = config.model_dim
        self.norm_first = config.norm == "pre"
        self.norm = layer_normalization(name="norm")
        self.dropout = Dropout(config.dropout, name="dropout")

    def build(self, input_shape: Any = None) -> None:
        self.norm.build((None, None, self.model_dim))

    def call(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor], training: bool = False
    ) -> Tensor:
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)), training=training)
        return self.norm(x + self.dropout(sublayer(x), training=training))


def layer_normalization(name: str) -> keras.layers.LayerNormalization:
    """Layer normalization with Tensor2Tensor's ε of 1e-6."""
    return keras.layers.LayerNormalization(epsilon=1e-6, name=name)
