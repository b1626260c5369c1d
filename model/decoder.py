"""The decoder: all target positions at once for training, one at a time with a cache for search.

Both ways run the same layers (§3.1, figure 1 right). In search the W hypotheses of a sentence take
the place of the T positions, so the memory's keys and values exist once per sentence, not once per
hypothesis.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from model.attention import MultiHeadAttention
from model.config import TransformerConfig
from model.layers import FeedForward, Residual, layer_normalization

Tensor = Any


class KeysValues(NamedTuple):
    """Projected keys and values that queries attend to, each float `[B, H, S, K]`."""

    key: Tensor
    value: Tensor


class DecoderLayer(keras.layers.Layer):
    """Self-attention, attention to the memory, then feed-forward, each within a residual (§3.1).

    Call arguments:
        x: float `[B, T, D]`.
        memory: float `[B, S, D]`, the encoder's output.
        self_mask: bool, broadcastable to `[B, H, T, T]`.
        memory_mask: bool, broadcastable to `[B, H, T, S]`.
        training: whether dropout is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str) -> None:
        super().__init__(name=name)
        self.self_attention = MultiHeadAttention(config, name="self_attention")
        self.self_attention_residual = Residual(config, name="self_attention_residual")
        self.memory_attention = MultiHeadAttention(config, name="memory_attention")
        self.memory_attention_residual = Residual(config, name="memory_attention_residual")
        self.feed_forward = FeedForward(config, name="feed_forward")
        self.feed_forward_residual = Residual(config, name="feed_forward_residual")

    def build(self, input_shape: Any = None) -> None:
        self.self_attention.build()
        self.self_attention_residual.build()
        self.memory_attention.build()
        self.memory_attention_residual.build()
        self.feed_forward.build()
        self.feed_forward_residual.build()

    def call(
        self,
        x: Tensor,
        memory: Tensor,
        self_mask: Tensor,
        memory_mask: Tensor,
        training: bool = False,
    ) -> Tensor:
        return self._sublayers(
            x,
            attend_to_self=lambda y: self.self_attention(
                y, y, attention_mask=self_mask, training=training
            ),
            attend_to_memory=lambda y: self.memory_attention(
                y, memory, attention_mask=memory_mask, training=training
            ),
            training=training,
        )

    def step(
        self,
        x: Tensor,
        past: KeysValues,
        memory: KeysValues,
        *,
        position: Tensor,
        memory_mask: Tensor,
    ) -> tuple[Tensor, KeysValues]:
        """Runs the layer on one position of every hypothesis.

        Args:
            x: float `[B, W, D]`.
            past: keys and values of earlier positions, float `[B * W, H, T, K]`.
            memory: projected memory, float `[B, H, S, K]`.
            position: int scalar, the position that `x` stands at.
            memory_mask: bool, broadcastable to `[B, H, W, S]`.

        Returns:
            float `[B, W, D]`, and `past` with this position's keys and values written in.
        """
        updated = []

        def attend_to_past(y: Tensor) -> Tensor:
            one_position = ops.reshape(y, (-1, 1, y.shape[-1]))  # [B * W, 1, D]
            keys_values, visible = self._extend(past, one_position, position)
            updated.append(keys_values)
            attended = self.self_attention.attend(
                one_position, *keys_values, attention_mask=visible
            )
            return ops.reshape(attended, ops.shape(y))  # [B, W, D]

        x = self._sublayers(
            x,
            attend_to_self=attend_to_past,
            attend_to_memory=lambda y: self.memory_attention.attend(
                y, *memory, attention_mask=memory_mask
            ),
            training=False,
        )
        return x, updated[0]

    def _extend(self, past: KeysValues, x: Tensor, position: Tensor) -> tuple[KeysValues, Tensor]:
        """Writes the keys and values of `x`, `[B * W, 1, D]`, into `past` at `position`."""
        positions = ops.arange(ops.shape(past.key)[2])
        here = (positions == position)[:, None]  # [T, 1]
        key, value = self.self_attention.project(x)  # [B * W, H, 1, K]
        extended = KeysValues(ops.where(here, key, past.key), ops.where(here, value, past.value))
        return extended, (positions <= position)[None, None, None, :]

    def _sublayers(
        self,
        x: Tensor,
        attend_to_self: Callable[[Tensor], Tensor],
        attend_to_memory: Callable[[Tensor], Tensor],
        training: bool,
    ) -> Tensor:
        x = self.self_attention_residual(x, sublayer=attend_to_self, training=training)
        x = self.memory_attention_residual(x, sublayer=attend_to_memory, training=training)
        return self.feed_forward_residual(
            x, sublayer=lambda y: self.feed_forward(y, training=training), training=training
        )


class Decoder(keras.layers.Layer):
    """`num_layers` decoder layers; under pre-norm a last normalisation follows them (§3.1).

    Call arguments:
        x: float `[B, T, D]`, the embedded target, shifted right.
        memory: float `[B, S, D]`, the encoder's output.
        self_mask: bool, broadcastable to `[B, H, T, T]`.
        memory_mask: bool, broadcastable to `[B, H, T, S]`.
        training: whether dropout is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str) -> None:
        super().__init__(name=name)
        self.config = config
        self.layers = [DecoderLayer(config, name=f"layer_{i}") for i in range(config.num_layers)]
        self.last_norm = layer_normalization("last_norm") if config.norm == "pre" else None

    def build(self, input_shape: Any = None) -> None:
        for layer in self.layers:
            layer.build()
        if self.last_norm:
            self.last_norm.build((None, None, self.config.model_dim))

    def call(
        self,
        x: Tensor,
        memory: Tensor,
        self_mask: Tensor,
        memory_mask: Tensor,
        training: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            x = layer(x, memory, self_mask=self_mask, memory_mask=memory_mask, training=training)
        return self.last_norm(x) if self.last_norm else x

    def project_memory(self, memory: Tensor) -> list[KeysValues]:
        """Computes every layer's keys and values of the memory, float `[B, S, D]`, once."""
        return [KeysValues(*layer.memory_attention.project(memory)) for layer in self.layers]

    def empty_past(self, rows: int | Tensor, length: int | Tensor) -> list[KeysValues]:
        """Makes the cache of `rows` hypotheses for at most `length` positions, all zeros."""
        heads = self.config.num_heads
        return [
            KeysValues(
                ops.zeros((rows, heads, length, self.config.key_dim), dtype=self.compute_dtype),
                ops.zeros((rows, heads, length, self.config.value_dim), dtype=self.compute_dtype),
            )
            for _ in self.layers
        ]

    def step(
        self,
        x: Tensor,
        past: list[KeysValues],
        memory: list[KeysValues],
        *,
        position: Tensor,
        memory_mask: Tensor,
    ) -> tuple[Tensor, list[KeysValues]]:
        """Runs all layers on one position of every hypothesis; see `DecoderLayer.step`."""
        updated = []
        for layer, layer_past, layer_memory in zip(self.layers, past, memory, strict=True):
            x, layer_past = layer.step(
                x, layer_past, layer_memory, position=position, memory_mask=memory_mask
            )
            updated.append(layer_past)
        return (self.last_norm(x) if self.last_norm else x), updated
