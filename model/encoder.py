"""The encoder: a stack of self-attention and feed-forward layers (§3.1, figure 1 left)."""

from typing import Any

from model import Tensor
from model.attention import MultiHeadAttention
from model.config import TransformerConfig
from model.configured import ConfiguredLayer, register
from model.sublayers import FeedForward, Residual, layer_normalization


@register
class EncoderLayer(ConfiguredLayer):
    """Self-attention, then feed-forward, each within a residual connection (§3.1).

    Call arguments:
        x: float `[B, S, D]`.
        attention_mask: bool, broadcastable to `[B, H, S, S]`.
        training: whether dropout is active.

    Returns:
        float `[B, S, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name)
        self.self_attention = MultiHeadAttention(config, "self_attention")
        self.self_attention_residual = Residual(config, name="self_attention_residual")
        self.feed_forward = FeedForward(config, "feed_forward")
        self.feed_forward_residual = Residual(config, name="feed_forward_residual")

    def build(self, input_shape: Any = None) -> None:
        self.self_attention.build()
        self.self_attention_residual.build()
        self.feed_forward.build()
        self.feed_forward_residual.build()

    def call(self, x: Tensor, attention_mask: Tensor, training: bool = False) -> Tensor:
        x = self.self_attention_residual(
            x,
            sublayer=lambda y: self.self_attention(
                y, y, attention_mask=attention_mask, training=training
            ),
            training=training,
        )
        return self.feed_forward_residual(
            x, sublayer=lambda y: self.feed_forward(y, training=training), training=training
        )


@register
class Encoder(ConfiguredLayer):
    """`depths.encoder` layers; pre-norm adds a last layer normalization (§3.1).

    Call arguments:
        x: float `[B, S, D]`, the embedded source.
        attention_mask: bool, broadcastable to `[B, H, S, S]`.
        training: whether dropout is active.

    Returns:
        float `[B, S, D]`, the memory that the decoder attends to.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name)
        self.model_dim = config.model_dim
        self.layers = [EncoderLayer(config, f"layer_{i}") for i in range(config.depths.encoder)]
        self.last_norm = layer_normalization("last_norm") if config.norm == "pre" else None

    def build(self, input_shape: Any = None) -> None:
        for layer in self.layers:
            layer.build()
        if self.last_norm:
            self.last_norm.build((None, None, self.model_dim))

    def call(self, x: Tensor, attention_mask: Tensor, training: bool = False) -> Tensor:
        for layer in self.layers:
            x = layer(x, attention_mask=attention_mask, training=training)
        return self.last_norm(x) if self.last_norm else x
