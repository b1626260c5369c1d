"""Scaled dot-product and multi-head attention (§3.2)."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from model import Tensor
from model.config import TransformerConfig
from model.configured import ConfiguredLayer, register
from model.kernels.linear import Linear, project_heads, split_heads
from model.kernels.shapes import sizes
from model.kernels.tensorflow_ops import matmul, softmax
from model.sublayers import Dropout

# So low that its exponential is exactly 0: padding has no influence at all.
_MASKED_SCORE = -1e9


def attention_weights(query: Tensor, key: Tensor, attention_mask: Tensor) -> Tensor:
    """Computes softmax(query · key / √d_k), in float32 whatever the inputs' type (§3.2.1).

    Args:
        query: float `[B, H, T, K]`.
        key: float `[B, H, S, K]`.
        attention_mask: bool, broadcastable to `[B, H, T, S]`, True at least once for each query.

    Returns:
        float32 `[B, H, T, S]`, non-negative; each query's weights sum to 1.
    """
    query = query * (1.0 / math.sqrt(query.shape[-1]))
    scores = matmul(query, key, transpose_y=True)  # [B, H, T, S]
    scores = ops.where(attention_mask, ops.cast(scores, "float32"), _MASKED_SCORE)
    return softmax(scores)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    dropout: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Averages `value` with weights softmax(query · key / √d_k) (§3.2.1, equation 1).

    Args:
        query: float `[B, H, T, K]`.
        key: float `[B, H, S, K]`.
        value: float `[B, H, S, K']`.
        attention_mask: bool, broadcastable to `[B, H, T, S]`, True at least once for each query.
        dropout: of the weights, float `[B, H, T, S]`.

    Returns:
        float `[B, H, T, K']`, and the weights before dropout, float32 `[B, H, T, S]`.
    """
    weights = attention_weights(query, key, attention_mask)
    shares = ops.cast(weights, value.dtype)
    shares = dropout(shares) if dropout else shares
    return matmul(shares, value), weights


@register
class MultiHeadAttention(ConfiguredLayer):
    """Attention with h independent projections of queries, keys and values (§3.2.2).

    The projections have no bias, as in Tensor2Tensor. The decoder's cache holds keys and values
    that `project` has computed once and `attend` reads many times.

    Call arguments:
        query: float `[B, T, D]`.
        memory: float `[B, S, D]`; the same tensor as `query` for self-attention.
        attention_mask: bool, broadcastable to `[B, H, T, S]`.
        training: whether dropout of the weights is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name)
        self.model_dim = config.model_dim
        self.num_heads = config.num_heads
        self.concatenated_dim = config.num_heads * config.value_dim
        keys_dim = config.num_heads * config.key_dim
        self.query = _projection(config, keys_dim, "query")
        self.key = _projection(config, keys_dim, "key")
        self.value = _projection(config, self.concatenated_dim, "value")
        self.output_projection = Linear(config.model_dim, use_bias=False, name="output")
        self.dropout = Dropout(config.attention_dropout, name="dropout")
        # Receives the weights, float32 [B, H, T, S], of each call, as `model.attention_maps` asks.
        self.weights_observer: Callable[[Tensor], None] | None = None

    def build(self, input_shape: Any = None) -> None:
        for projection in (self.query, self.key, self.value):
            projection.build((None, None, self.model_dim))
        self.output_projection.build((None, None, self.concatenated_dim))

    def call(
        self, query: Tensor, memory: Tensor, attention_mask: Tensor, training: bool = False
    ) -> Tensor:
        if memory is query:
            projections = (self.query, self.key, self.value)
            heads = project_heads(projections, query, self.num_heads)
        else:
            keys_values = project_heads((self.key, self.value), memory, self.num_heads)
            heads = [self.project_query(query), *keys_values]
        attended, weights = self.attend(*heads, attention_mask=attention_mask, training=training)
        if self.weights_observer:
            self.weights_observer(weights)
        return attended

    def project_query(self, x: Tensor) -> Tensor:
        """Projects float `[B, T, D]` to queries, `[B, H, T, K]`."""
        return split_heads(self.query(x), self.num_heads)

    def project(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Projects `memory`, float `[B, S, D]`, to keys and values, each `[B, H, S, K]`."""
        key, value = self.key(memory), self.value(memory)
        return split_heads(key, self.num_heads), split_heads(value, self.num_heads)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        attention_mask: Tensor,
        training: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Attends from queries, float `[B, H, T, K]`, to keys and values, `[B, H, S, K]`.

        Returns:
            float `[B, T, D]`, and the weights before dropout, float32 `[B, H, T, S]`.
        """
        heads, weights = scaled_dot_product_attention(
            query,
            key,
            value,
            attention_mask,
            dropout=lambda shares: self.dropout(shares, training=training),
        )  # [B, H, T, K], [B, H, T, S]
        heads = ops.transpose(heads, (0, 2, 1, 3))  # [B, T, H, K]
        batch, length = sizes(heads)[:2]
        joined = ops.reshape(heads, (batch, length, self.concatenated_dim))  # [B, T, H * K]
        return self.output_projection(joined), weights


def _projection(config: TransformerConfig, size: int, name: str) -> Linear:
    # Half of Glorot's variance, the default, is 1 / (fan_in + fan_out): as if queries, keys and
    # values were one matrix, which is how PyTorch's attention starts; post-norm learns faster so.
    initializer = keras.initializers.VarianceScaling(
        config.attention_init_variance, mode="fan_avg", distribution="uniform"
    )
    return Linear(size, use_bias=False, kernel_initializer=initializer, name=name)
