"""The decoder: all target positions at once for training, one at a time with a cache for search.

Both ways run the same layers (§3.1, figure 1 right). In search the W hypotheses of a sentence take
the place of the T positions, so the memory's keys and values exist once per sentence, not once per
hypothesis. A step writes W entries behind the past and moves none: a hypothesis sees those that it
goes back to.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from model import Tensor
from model.attention import MultiHeadAttention
from model.config import TransformerConfig
from model.kernels.tensorflow_ops import fill_rows
from model.search.state import Lineage
from model.sublayers import FeedForward, Residual, layer_normalization


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
        self.self_attention = MultiHeadAttention(config, "self_attention")
        self.self_attention_residual = Residual(config, name="self_attention_residual")
        self.memory_attention = MultiHeadAttention(config, "memory_attention")
        self.memory_attention_residual = Residual(config, name="memory_attention_residual")
        self.feed_forward = FeedForward(config, "feed_forward")
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
        rows: Tensor,
        past_mask: Tensor,
        memory_mask: Tensor,
    ) -> tuple[Tensor, KeysValues, Tensor]:
        """Runs the layer on one position of every hypothesis.

        Args:
            x: float `[B, W, D]`.
            past: keys and values of earlier positions, float `[B, H, E, K]`, then zeros.
            memory: projected memory, float `[B, H, S, K]`.
            rows: int `[B * H, 1]`, which of the rows of W entries that the past consists of are
                to be written.
            past_mask: bool, broadcastable to `[B, H, W, E]`.
            memory_mask: bool, broadcastable to `[B, H, W, S]`.

        Returns:
            float `[B, W, D]`; `past` with this position's keys and values written in; and the
            attention weights to the memory, float32 `[B, H, W, S]`.
        """
        new_past, memory_weights = [], []

        def attend_to_past(y: Tensor) -> Tensor:
            present = self.self_attention.project(y)  # each [B, H, W, K]
            written = [_write(old, new, rows) for old, new in zip(past, present, strict=True)]
            new_past.append(KeysValues(*written))
            query = self.self_attention.project_query(y)
            attended, _ = self.self_attention.attend(query, *written, attention_mask=past_mask)
            return attended

        def attend_to_memory(y: Tensor) -> Tensor:
            query = self.memory_attention.project_query(y)
            attended, weights = self.memory_attention.attend(
                query, *memory, attention_mask=memory_mask
            )
            memory_weights.append(weights)
            return attended

        x = self._sublayers(
            x,
            attend_to_self=attend_to_past,
            attend_to_memory=attend_to_memory,
            training=False,
        )
        return x, new_past[0], memory_weights[0]

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
        self.layers = [DecoderLayer(config, f"layer_{i}") for i in range(config.num_layers)]
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

    def empty_past(self, batch: int | Tensor) -> list[KeysValues]:
        """Makes the cache of no positions, for `model.search.search` to make room in."""
        key = (batch, self.config.num_heads, 0, self.config.key_dim)
        value = (batch, self.config.num_heads, 0, self.config.value_dim)
        return [
            KeysValues(
                ops.zeros(key, dtype=self.compute_dtype), ops.zeros(value, dtype=self.compute_dtype)
            )
            for _ in self.layers
        ]

    def step(
        self,
        x: Tensor,
        past: list[KeysValues],
        memory: list[KeysValues],
        *,
        lineage: Lineage,
        memory_mask: Tensor,
    ) -> tuple[Tensor, list[KeysValues], Tensor]:
        """Runs all layers on one position of every hypothesis; see `DecoderLayer.step`.

        Args:
            x: float `[B, W, D]`.
            past: keys and values of earlier positions, float `[B, H, E, K]`, then zeros.
            memory: from `project_memory`.
            lineage: what of the past and the present each hypothesis sees.
            memory_mask: bool, broadcastable to `[B, H, W, S]`.

        Returns:
            float `[B, W, D]`, the new `past`, and the last layer's attention to the memory, float
            `[B, W, S]`, averaged over heads.
        """
        batch, heads, entries, _ = ops.shape(past[0].key)
        rows = ops.arange(batch * heads)[:, None] * entries + lineage.written
        rows, past_mask = rows // x.shape[1], lineage.seen[:, None]
        updated = []
        for layer, layer_past, layer_memory in zip(self.layers, past, memory, strict=True):
            x, layer_past, weights = layer.step(
                x,
                layer_past,
                layer_memory,
                rows=rows,
                past_mask=past_mask,
                memory_mask=memory_mask,
            )
            updated.append(layer_past)
        # Only a coverage penalty reads the mean; a graph prunes it otherwise.
        attention = ops.mean(weights, axis=1)  # [B, W, S]
        return (self.last_norm(x) if self.last_norm else x), updated, attention


def _write(past: Tensor, present: Tensor, rows: Tensor) -> Tensor:
    """Writes `[B, H, W, K]` into `[B, H, E, K]`, the W entries of a position being one row."""
    _, heads, width, size = present.shape
    rows_of_past, new = (ops.reshape(x, (-1, width * size)) for x in (past, present))
    written = fill_rows(rows_of_past, rows, new)
    return ops.reshape(written, (-1, heads, ops.shape(past)[2], size))
