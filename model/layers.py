"""Feed-forward sublayer, residual connection, and the shared embedding (§3.1, §3.3, §3.4)."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from model.config import TransformerConfig
from model.linear import Linear, map_rows
from model.masks import PADDING_ID
from model.tensorflow_ops import dropout

Tensor = Any


class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` (§5.4), with half as many random bits.

    Call arguments:
        x: float, of any shape.
        training: whether elements are dropped.

    Returns:
        float, of the same shape.
    """

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        return dropout(x, self.rate, self.seed_generator) if training and self.rate else x


class FeedForward(keras.layers.Layer):
    """Two linear maps with a ReLU between them, the same at every position (§3.3).

    Call arguments:
        x: float `[B, T, D]`.
        training: whether dropout behind the ReLU is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str, for_search: bool = False) -> None:
        super().__init__(name=name)
        self.model_dim = config.model_dim
        self.feed_forward_dim = config.feed_forward_dim
        self.inner = Linear(
            self.feed_forward_dim, for_search=for_search, activation="relu", name="inner"
        )
        self.dropout = Dropout(config.relu_dropout, name="dropout")
        self.outer = Linear(self.model_dim, for_search=for_search, name="outer")

    def build(self, input_shape: Any = None) -> None:
        self.inner.build((None, None, self.model_dim))
        self.outer.build((None, None, self.feed_forward_dim))

    def call(self, x: Tensor, training: bool = False) -> Tensor:
        return self.outer(self.dropout(self.inner(x), training=training))


class Residual(keras.layers.Layer):
    """A residual connection around a sublayer, with dropout and layer normalisation (§3.1, §5.4).

    `norm="post"` computes LayerNorm(x + Dropout(sublayer(x))), the paper's; `norm="pre"` computes
    x + Dropout(sublayer(LayerNorm(x))).

    Call arguments:
        x: float `[B, T, D]`.
        sublayer: function of `[B, T, D]` that returns `[B, T, D]`.
        training: whether dropout is active.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str) -> None:
        super().__init__(name=name)
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


class SharedEmbedding(keras.layers.Layer):
    """One matrix for source tokens, target tokens and the map to logits (§3.4).

    Embeddings are multiplied by √d_model. Rows are drawn from a normal distribution of standard
    deviation d_model^-0.5, as in Tensor2Tensor, so that both uses start at unit scale. With
    `padding_embedding="zeros"` padding embeds to zeros whatever its row.

    Call arguments:
        tokens: int `[B, T]`.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(self, config: TransformerConfig, vocabulary_size: int, name: str) -> None:
        super().__init__(name=name)
        self.vocabulary_size = vocabulary_size
        self.model_dim = config.model_dim
        self.embeds_padding = config.padding_embedding == "learned"

    def build(self, input_shape: Any = None) -> None:
        self.matrix = self.add_weight(
            shape=(self.vocabulary_size, self.model_dim),
            initializer=keras.initializers.RandomNormal(stddev=self.model_dim**-0.5),
            name="matrix",
        )

    def call(self, tokens: Tensor) -> Tensor:
        embedded = ops.take(self.matrix, tokens, axis=0) * math.sqrt(self.model_dim)
        if self.embeds_padding:
            return embedded
        return ops.where(ops.expand_dims(tokens, -1) == PADDING_ID, 0.0, embedded)

    def logits(self, x: Tensor) -> Tensor:
        """Maps float `[B, T, D]` to logits, float32 `[B, T, V]` (§3.4)."""
        return self.make_logits()(x)

    def make_logits(self) -> Callable[[Tensor], Tensor]:
        """Makes the map to logits, for use in a loop: the matrix is transposed but once."""
        columns = ops.transpose(ops.cast(self.matrix, self.compute_dtype))

        def logits(x: Tensor) -> Tensor:
            found = map_rows(lambda rows: ops.matmul(rows, columns), x, self.vocabulary_size)
            return ops.cast(found, "float32")

        return logits


class TargetSpace(keras.layers.Layer):
    """One learned vector added at every position of the source, as Tensor2Tensor does.

    There it is a row of an embedding of 32 target languages; a model of one language pair learns
    one row, which starts as in that embedding.

    Call arguments:
        x: float `[B, S, D]`, the embedded source.

    Returns:
        float `[B, S, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str) -> None:
        super().__init__(name=name)
        self.model_dim = config.model_dim

    def build(self, input_shape: Any = None) -> None:
        limit = math.sqrt(6 / (32 + self.model_dim))  # Glorot's, of [32, D]
        self.vector = self.add_weight(
            shape=(self.model_dim,),
            initializer=keras.initializers.RandomUniform(-limit, limit),
            name="vector",
        )

    def call(self, x: Tensor) -> Tensor:
        return x + ops.cast(self.vector, x.dtype)


def layer_normalization(name: str) -> keras.layers.LayerNormalization:
    """Layer normalisation with Tensor2Tensor's ε of 1e-6."""
    return keras.layers.LayerNormalization(epsilon=1e-6, name=name)
