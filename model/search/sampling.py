"""Sampling: random numbers of a sentence's own, and the tokens that they choose."""

from keras import ops

from model import Tensor
from model.config import SearchConfig
from model.masks import PADDING_ID
from model.search.candidates import IMPOSSIBLE, Candidates, Likeliest


def drawn_candidates(
    likeliest: Likeliest, live_log_probs: Tensor, uniform: Tensor, config: SearchConfig
) -> Candidates:
    """Draws one continuation of each hypothesis from the model's distribution.

    The distribution is sharpened by the temperature, then cut to the `top_k` likeliest tokens,
    then to the fewest that have `top_p` of what is left (Holtzman et al. 2020).

    Args:
        likeliest: best first; at least `top_k`, or all, for each hypothesis.
        live_log_probs: float32 `[B, W]`, of the hypotheses, in nats.
        uniform: float32 `[B, W]`, the random numbers, at least 0 and below 1.
        config: temperature, `top_k` and `top_p`.
    """
    allowed = likeliest.log_probs > IMPOSSIBLE / 2
    if config.top_k:
        allowed &= ops.cumsum(ops.cast(allowed, "int32"), axis=-1) <= config.top_k
    scaled = ops.where(allowed, likeliest.log_probs / config.temperature, IMPOSSIBLE)
    probabilities = ops.softmax(scaled, axis=-1)
    before = ops.cumsum(probabilities, axis=-1) - probabilities
    kept = ops.where(before < config.top_p, probabilities, 0.0)
    cumulative = ops.cumsum(kept, axis=-1)
    passed = (cumulative <= uniform[:, :, None] * cumulative[:, :, -1:]) | (kept == 0.0)
    chosen = ops.argmin(ops.cast(passed, "int32"), axis=-1)[:, :, None]
    batch, width = ops.shape(live_log_probs)
    log_probs = ops.take_along_axis(likeliest.log_probs, chosen, axis=2)[:, :, 0]
    return Candidates(
        log_probs + live_log_probs,
        ops.broadcast_to(ops.arange(width)[None], (batch, width)),
        ops.take_along_axis(likeliest.tokens, chosen, axis=2)[:, :, 0],
    )


def sentence_keys(source: Tensor) -> Tensor:
    """Hashes the tokens of each sentence, int `[B, S]`, padding aside: uint32 `[B]`."""
    places = ops.cast(ops.arange(ops.shape(source)[1]), "uint32")
    hashes = _scramble(_scramble(places) + ops.cast(source, "uint32"))
    return ops.sum(ops.where(ops.equal(source, PADDING_ID), 0, hashes), axis=1)


def random_numbers(keys: Tensor, position: Tensor, *, width: int, seed: int) -> Tensor:
    """Makes the random numbers of all hypotheses at a position out of what they belong to.

    A sentence has the same numbers in any batch, and others at each position.

    Args:
        keys: uint32 `[B]`, the `sentence_keys`.
        position: int scalar.
        width: W, hypotheses of a sentence.
        seed: of all numbers; the lower 32 bits count.

    Returns:
        float32 `[B, W]`, at least 0 and below 1, with a resolution of 2⁻²⁴.
    """
    places = ops.cast(position * width + ops.arange(width), "uint32")
    places = _scramble(_scramble(places) + ops.cast(seed & 0xFFFFFFFF, "uint32"))
    mixed = _scramble(_scramble(keys)[:, None] + places[None])
    return ops.cast(ops.right_shift(mixed, 8), "float32") * 2.0**-24


def _scramble(x: Tensor) -> Tensor:
    """Mixes the bits of each uint32 (`lowbias32`, C. Wellons, "Hash Prospector", 2018)."""
    x = (x ^ ops.right_shift(x, 16)) * ops.cast(0x7FEB352D, "uint32")
    x = (x ^ ops.right_shift(x, 15)) * ops.cast(0x846CA68B, "uint32")
    return x ^ ops.right_shift(x, 16)
