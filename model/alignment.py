"""Alignment of target tokens with source tokens, from the decoder's attention to the source."""

from typing import NamedTuple

from keras import ops

from model import Tensor
from model.attention_maps import observe_attention
from model.transformer import Transformer


class TokenAlignment(NamedTuple):
    """What a model says about a given translation, by teacher forcing."""

    log_probs: Tensor  # float32 [B, T], nats, of each target token; 0 for padding
    attention: Tensor  # float32 [B, T, S], of each target token to the source; rows sum to 1


def align_tokens(
    transformer: Transformer, source: Tensor, target: Tensor, *, layer: int = 0
) -> TokenAlignment:
    """Scores a translation and collects one layer's attention to the source, the heads' mean.

    A hypothesis is aligned by its own tokens, so search need not keep what each of its ancestors
    attended to, and the result does not depend on the beam.

    Args:
        transformer: the model.
        source: int `[B, S]`, as in calling the model.
        target: int `[B, T]`, as in calling the model.
        layer: of the decoder, from 1; 0 for `default_alignment_layer`.
    """
    layers = transformer.decoder.layers
    chosen = layers[(layer or default_alignment_layer(len(layers))) - 1]
    with observe_attention(chosen.memory_attention) as weights:
        log_probs = transformer.token_log_probs(source, target)
    return TokenAlignment(log_probs, ops.mean(weights[0], axis=1))


def default_alignment_layer(decoder_layers: int) -> int:
    """Returns the last layer but one, the best of deep decoders (Garg et al. 2019), else the last.

    In a decoder of two layers the first one hardly aligns.
    """
    return decoder_layers - 1 if decoder_layers > 2 else decoder_layers
