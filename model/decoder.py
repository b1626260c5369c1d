"""The decoder: all target positions at once in training, one at a time with a cache in search.

Both run the same layers (§3.1, figure 1 right). In search the W hypotheses of a sentence take the
place of the T positions, so the memory's keys and values exist once per sentence, not once per
hypothesis. Each step appends W cache entries and never reorders them; a mask selects each
hypothesis's ancestors (`model.search.state`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from model import Tensor
from model.attention import MultiHeadAttention
from model.config import TransformerConfig
from model.configured import ConfiguredLayer, register
from model.kernels.tensorflow_ops import fill_rows
from model.search.state import Ancestry
from model.sublayers import FeedForward, Residual, layer_normalization


class KeysValues(NamedTuple):
    """Projected keys and values that queries attend to, each float `[B, H, S, K]`."""

    key: Tensor
    value: Tensor


@register
class DecoderLayer(ConfiguredLayer):
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

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name)
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
            rows: int `[B * H, 1]`, where to write, see `_write`.
            past_mask: bool, broadcastable to `[B, H, W, E]`.
            memory_mask: bool, broadcastable to `[B, H, W, S]`.

        Returns:
            float `[B, W, D]`; `past` with this position's keys and values; and the attention
            weights to the memory, float32 `[B, H, W, S]`.
        """
        new_past, memory_weights = [], []

        def attend_to_past(y: Tensor) -> Tensor:
            new_past.append(self._write_past(y, past, rows))
            query = self.self_attention.project_query(y)  # [B, H, W, K]
            return self.self_attention.attend(query, *new_past[0], attention_mask=past_mask)[0]

        def attend_to_memory(y: Tensor) -> Tensor:
            query = self.memory_attention.project_query(y)  # [B, H, W, K]
            attended = self.memory_attention.attend(query, *memory, attention_mask=memory_mask)
            memory_weights.append(attended[1])
            return attended[0]

        x = self._sublayers(x, attend_to_past, attend_to_memory, training=False)
        return x, new_past[0], memory_weights[0]

    def _write_past(self, y: Tensor, past: KeysValues, rows: Tensor) -> KeysValues:
        """Appends the keys and values of float `[B, W, D]` to the cache."""
        present = self.self_attention.project(y)  # each [B, H, W, K]
        return KeysValues(*(_write(old, new, rows) for old, new in zip(past, present, strict=True)))

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


@register
class Decoder(ConfiguredLayer):
    """`depths.decoder` layers; pre-norm adds a last layer normalization (§3.1).

    Call arguments:
        x: float `[B, T, D]`, the embedded target, shifted right.
        memory: float `[B, S, D]`, the encoder's output.
        self_mask: bool, broadcastable to `[B, H, T, T]`.
        memory_mask: bool, broadcastable to `[B, H, T, S]`.
        training: whether dropout is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name)
        self.layers = [DecoderLayer(config, f"layer_{i}") for i in range(config.depths.decoder)]
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
        """Projects the memory, float `[B, S, D]`, to every layer's keys and values."""
        return [KeysValues(*layer.memory_attention.project(memory)) for layer in self.layers]

    def empty_past(self, batch: int | Tensor) -> list[KeysValues]:
        """Makes an empty cache, E = 0; search makes room in it."""
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
        ancestry: Ancestry,
        memory_mask: Tensor,
    ) -> tuple[Tensor, list[KeysValues], Tensor]:
        """Runs all layers on one position of every hypothesis; see `DecoderLayer.step`.

        Args:
            x: float `[B, W, D]`.
            past: keys and values of earlier positions, float `[B, H, E, K]`, then zeros.
            memory: from `project_memory`.
            ancestry: which entries of the cache each hypothesis attends to, and where to write.
            memory_mask: bool, broadcastable to `[B, H, W, S]`.

        Returns:
            float `[B, W, D]`, the new `past`, and the last layer's attention to the memory, float
            `[B, W, S]`, averaged over heads.
        """
        rows = _rows_to_write(past[0].key, ancestry, width=x.shape[1])  # [B * H, 1]
        past_mask = ancestry.ancestors[:, None]  # [B, 1, W, E]
        new_past = []
        for layer, layer_past, layer_memory in zip(self.layers, past, memory, strict=True):
            x, layer_past, weights = layer.step(
                x,
                layer_past,
                layer_memory,
                rows=rows,
                past_mask=past_mask,
                memory_mask=memory_mask,
            )
            new_past.append(layer_past)
        # Only the coverage penalty reads the mean; otherwise TensorFlow prunes it from the graph.
        attention = ops.mean(weights, axis=1)  # [B, W, S]
        return (self.last_norm(x) if self.last_norm else x), new_past, attention


def _rows_to_write(past: Tensor, ancestry: Ancestry, *, width: int) -> Tensor:
    """Returns where `_write` writes the entries of a position into float `[B, H, E, K]`.

    E and the number of earlier entries are multiples of W, so the W entries of a position are one
    row of `past` reshaped to `[B * H * E / W, W * K]`.

    Returns:
        int `[B * H, 1]`.
    """
    batch, heads, capacity, _ = ops.shape(past)
    entries = ops.arange(batch * heads)[:, None] * capacity + ancestry.num_entries  # [B * H, 1]
    return entries // width


def _write(past: Tensor, present: Tensor, rows: Tensor) -> Tensor:
    """Writes `[B, H, W, K]` into `[B, H, E, K]`, at rows from `_rows_to_write`."""
    _, heads, width, size = present.shape
    past_rows = ops.reshape(past, (-1, width * size))  # [B * H * E / W, W * K]
    new_rows = ops.reshape(present, (-1, width * size))  # [B * H, W * K]
    written = fill_rows(past_rows, rows, new_rows)
    return ops.reshape(written, (-1, heads, ops.shape(past)[2], size))  # [B, H, E, K]
