"""Attention weights of every layer and head, to be looked at (figures 3 to 5 of the paper)."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from keras import ops

from model.attention import MultiHeadAttention
from model.transformer import Transformer

Tensor = Any


class AttentionMaps(NamedTuple):
    """How much each query looks at each key: non-negative, summing to 1 over the last axis.

    N is the number of layers. Row t of the target's maps belongs to the prediction of target t;
    column t of `decoder` to the token read there: the start symbol, then target t - 1.
    """

    encoder: Tensor  # [N, B, H, S, S]
    decoder: Tensor  # [N, B, H, T, T]
    memory: Tensor  # [N, B, H, T, S]


def attention_maps(transformer: Transformer, source: Tensor, target: Tensor) -> AttentionMaps:
    """Runs the model, not within a graph, and watches its attention.

    Args:
        transformer: the model.
        source: int `[B, S]`, as for calling the model.
        target: int `[B, T]`, likewise; given or found by search.

    Returns:
        float maps of all layers and heads.
    """
    encoder, decoder = transformer.encoder.layers, transformer.decoder.layers
    with contextlib.ExitStack() as stack:

        def watch(layers: Iterable[MultiHeadAttention]) -> list[list[Tensor]]:
            return [stack.enter_context(_watched(layer)) for layer in layers]

        seen = AttentionMaps(
            encoder=watch(layer.self_attention for layer in encoder),
            decoder=watch(layer.self_attention for layer in decoder),
            memory=watch(layer.memory_attention for layer in decoder),
        )
        transformer(source, target)
    return AttentionMaps(*(ops.stack([weights for (weights,) in maps]) for maps in seen))


@contextlib.contextmanager
def _watched(layer: MultiHeadAttention) -> Iterator[list[Tensor]]:
    """Collects the weights of each `attend` meanwhile; the layer itself need not know."""
    weights: list[Tensor] = []
    attend = layer.attend

    def watch(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        weights.append(
            layer.attention_weights(query, key, attention_mask=options["attention_mask"])
        )
        return attend(query, key, value, **options)

    layer.attend = watch  # type: ignore[method-assign]
    try:
        yield weights
    finally:
        del layer.attend
