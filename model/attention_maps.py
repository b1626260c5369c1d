"""Attention weights of every layer and head, for visualization (figures 3 to 5 of the paper)."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from keras import ops

from model import Tensor
from model.attention import MultiHeadAttention
from model.transformer import Transformer


class AttentionMaps(NamedTuple):
    """Attention weights of each query over the keys: non-negative, summing to 1 on the last axis.

    N is the number of layers, of the encoder or of the decoder. Row t of the target's maps belongs
    to the prediction of target t; column t of `decoder` to the token read there: the start symbol,
    then target t - 1.
    """

    encoder: Tensor  # [N, B, H, S, S]
    decoder: Tensor  # [N, B, H, T, T]
    memory: Tensor  # [N, B, H, T, S]


def attention_maps(transformer: Transformer, source: Tensor, target: Tensor) -> AttentionMaps:
    """Runs the model eagerly by teacher forcing and collects its attention weights.

    Args:
        transformer: the model.
        source: int `[B, S]`, as in calling the model.
        target: int `[B, T]`, as in calling the model: a reference, or the result of search.

    Returns:
        float32 maps of all layers and heads.
    """
    encoder, decoder = transformer.encoder.layers, transformer.decoder.layers
    with contextlib.ExitStack() as stack:

        def observe(layers: Iterable[MultiHeadAttention]) -> list[list[Tensor]]:
            return [stack.enter_context(observe_attention(layer)) for layer in layers]

        observed = AttentionMaps(
            encoder=observe(layer.self_attention for layer in encoder),
            decoder=observe(layer.self_attention for layer in decoder),
            memory=observe(layer.memory_attention for layer in decoder),
        )
        transformer(source, target)
    return AttentionMaps(*(ops.stack([weights for (weights,) in maps]) for maps in observed))


@contextlib.contextmanager
def observe_attention(layer: MultiHeadAttention) -> Iterator[list[Tensor]]:
    """Collects the attention weights of every call of the layer within the context."""
    weights: list[Tensor] = []
    layer.weights_observer = weights.append
    try:
        yield weights
    finally:
        layer.weights_observer = None
