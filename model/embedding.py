"""Embedding: one matrix for both languages and the logits (§3.4)."""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from model import Tensor
from model.config import TransformerConfig
from model.configured import ConfiguredLayer, register
from model.kernels.shapes import map_rows
from model.masks import PADDING_ID


@register
class SharedEmbedding(ConfiguredLayer):
    """One matrix for source tokens, target tokens and the map to logits (§3.4).

    Embeddings are multiplied by √d_model. Rows are drawn from a normal distribution of standard
    deviation d_model^-0.5, as in Tensor2Tensor, so that both uses start at unit scale. With
    `padding_embedding="zeros"` the embedding of padding is zero.

    Call arguments:
        tokens: int `[B, T]`.

    Returns:
        float `[B, T, D]`.
    """

    def __init__(
        self, config: TransformerConfig, vocabulary_size: int, name: str | None = None
    ) -> None:
        super().__init__(config, name)
        self.vocabulary_size = vocabulary_size
        self.model_dim = config.model_dim
        self.embeds_padding = config.padding_embedding == "learned"

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "vocabulary_size": self.vocabulary_size}

    def build(self, input_shape: Any = None) -> None:
        self.matrix = self.add_weight(
            shape=(self.vocabulary_size, self.model_dim),
            initializer=keras.initializers.RandomNormal(stddev=self.model_dim**-0.5),
            name="matrix",
        )

    def call(self, tokens: Tensor) -> Tensor:
        embedded = ops.take(self.matrix, tokens, axis=0) * math.sqrt(self.model_dim)  # [B, T, D]
        if self.embeds_padding:
            return embedded
        return ops.where(ops.expand_dims(tokens, -1) == PADDING_ID, 0.0, embedded)

    def logits(self, x: Tensor) -> Tensor:
        """Maps float `[B, T, D]` to logits, float32 `[B, T, V]` (§3.4)."""
        return self.make_logits()(x)

    def make_logits(self) -> Callable[[Tensor], Tensor]:
        """Makes the map to logits, for use in a loop: it transposes the matrix only once."""
        columns = ops.transpose(ops.cast(self.matrix, self.compute_dtype))  # [D, V]

        def logits(x: Tensor) -> Tensor:
            products = map_rows(lambda rows: ops.matmul(rows, columns), x, self.vocabulary_size)
            return ops.cast(products, "float32")  # [B, T, V]

        return logits


@register
class TargetSpace(ConfiguredLayer):
    """One learned vector added at every position of the source, as in Tensor2Tensor.

    Tensor2Tensor embeds 32 target languages; a model of one language pair learns one row, with the
    same initialization.

    Call arguments:
        x: float `[B, S, D]`, the embedded source.

    Returns:
        float `[B, S, D]`.
    """

    def __init__(self, config: TransformerConfig, name: str | None = None) -> None:
        super().__init__(config, name)
        self.model_dim = config.model_dim

    def build(self, input_shape: Any = None) -> None:
        limit = math.sqrt(6 / (32 + self.model_dim))  # Glorot's, for [32, D]
        self.vector = self.add_weight(
            shape=(self.model_dim,),
            initializer=keras.initializers.RandomUniform(-limit, limit),
            name="vector",
        )

    def call(self, x: Tensor) -> Tensor:
        return x + ops.cast(self.vector, x.dtype)
