"""Scaled dot-product and multi-head attention (§3.2)."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from model.config import TransformerConfig
from model.kernels.linear import Linear, apply_together, sizes
from model.kernels.tensorflow_ops import matmul
from model.sublayers import Dropout

Tensor = Any

# So low that its exponential is exactly 0: padding has no influence at all.
_MASKED_SCORE = -1e9


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    dropout: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Averages `value` with weights softmax(query · key / √d_k) (§3.2.1, equation 1).

    The softmax is computed in float32 whatever the inputs' type.

    Args:
        query: float `[B, H, T, K]`.
        key: float `[B, H, S, K]`.
        value: float `[B, H, S, K']`.
        attention_mask: bool, broadcastable to `[B, H, T, S]`; every query may look somewhere.
        dropout: of the weights, float `[B, H, T, S]`.

    Returns:
        float `[B, H, T, K']`.
    """
    query = query * (1.0 / math.sqrt(query.shape[-1]))
    scores = matmul(query, key, transpose_y=True)  # [B, H, T, S]
    scores = ops.where(attention_mask, ops.cast(scores, "float32"), _MASKED_SCORE)
    weights = ops.cast(ops.softmax(scores, axis=-1), value.dtype)
    weights = dropout(weights) if dropout else weights
    return matmul(weights, value)


class MultiHeadAttention(keras.layers.Layer):
    """Attention with h independent projections of queries, keys and values (§3.2.2).

    The projections have no bias, as in Tensor2Tensor. Keys and values can be computed once with
    `project` and attended to many times with `attend`: that is the decoder's cache. A model that is
    not for search has one product for all that is projected from the same input.

    Call arguments:
        query: float `[B, T, D]`.
        memory: float `[B, S, D]`; the same tensor as `query` for self-attention.
        attention_mask: bool, broadcastable to `[B, H, T, S]`.
        training: whether dropout of the weights is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str, for_search: bool = False) -> None:
        super().__init__(name=name)
        self.for_search = for_search
        self.model_dim = config.model_dim
        self.num_heads = config.num_heads
        self.concatenated_dim = config.num_heads * config.value_dim
        keys_dim = config.num_heads * config.key_dim
        self.query = _projection(config, keys_dim, "query", for_search)
        self.key = _projection(config, keys_dim, "key", for_search)
        self.value = _projection(config, self.concatenated_dim, "value", for_search)
        self.output_projection = Linear(
            config.model_dim, for_search=for_search, use_bias=False, name="output"
        )
        self.dropout = Dropout(config.attention_dropout, name="dropout")

    def build(self, input_shape: Any = None) -> None:
        for projection in (self.query, self.key, self.value):
            projection.build((None, None, self.model_dim))
        self.output_projection.build((None, None, self.concatenated_dim))

    def call(
        self, query: Tensor, memory: Tensor, attention_mask: Tensor, training: bool = False
    ) -> Tensor:
        if memory is query:
            heads = self._project(query, self.query, self.key, self.value)
        else:
            heads = [self.project_query(query), *self._project(memory, self.key, self.value)]
        return self.attend(*heads, attention_mask=attention_mask, training=training)

    def project_query(self, x: Tensor) -> Tensor:
        """Computes the queries of float `[B, T, D]`, `[B, H, T, K]`."""
        return self._split_heads(self.query(x))

    def project(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Computes the keys and values of `memory`, float `[B, S, D]`, each `[B, H, S, K]`."""
        return self._split_heads(self.key(memory)), self._split_heads(self.value(memory))

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        attention_mask: Tensor,
        training: bool = False,
    ) -> Tensor:
        """Attends from queries, float `[B, H, T, K]`, to keys and values, `[B, H, S, K]`.

        Returns:
            float `[B, T, D]`.
        """
        heads = scaled_dot_product_attention(
            query,
            key,
            value,
            attention_mask,
            dropout=lambda weights: self.dropout(weights, training=training),
        )  # [B, H, T, K]
        heads = ops.transpose(heads, (0, 2, 1, 3))  # [B, T, H, K]
        batch, length = sizes(heads)[:2]
        return self.output_projection(ops.reshape(heads, (batch, length, self.concatenated_dim)))

    def attention_weights(self, query: Tensor, key: Tensor, *, attention_mask: Tensor) -> Tensor:
        """Computes what `attend` averages values with, to be looked at: float32 `[B, H, T, S]`."""
        # Averages of unit vectors are the weights themselves.
        unit_vectors = ops.eye(ops.shape(key)[2], dtype="float32")[None, None]  # [1, 1, S, S]
        return scaled_dot_product_attention(query, key, unit_vectors, attention_mask)

    def _project(self, x: Tensor, *projections: Linear) -> list[Tensor]:
        """Applies projections to float `[B, T, D]`, by one product unless for search."""
        if self.for_search or len({each.size for each in projections}) > 1:
            return [self._split_heads(each(x)) for each in projections]
        together, number = apply_together(projections, x), len(projections)
        batch, length, size = sizes(together)
        size_of_head = size // (number * self.num_heads)
        heads = ops.reshape(together, (batch, length, number, self.num_heads, size_of_head))
        return ops.unstack(ops.transpose(heads, (2, 0, 3, 1, 4)), number)  # each [B, H, T, K]

    def _split_heads(self, x: Tensor) -> Tensor:
        batch, length, size = sizes(x)
        x = ops.reshape(x, (batch, length, self.num_heads, size // self.num_heads))
        return ops.transpose(x, (0, 2, 1, 3))  # [B, H, T, K]


def _projection(config: TransformerConfig, size: int, name: str, for_search: bool) -> Linear:
    # Half of Glorot's variance, the default, is 1 / (fan_in + fan_out): as if queries, keys and
    # values were one matrix, which is how PyTorch's attention starts; post-norm learns faster so.
    initializer = keras.initializers.VarianceScaling(
        config.attention_init_variance, mode="fan_avg", distribution="uniform"
    )
    return Linear(
        size, for_search=for_search, use_bias=False, kernel_initializer=initializer, name=name
    )
