"""Sampling: random numbers that depend on the sentence alone, and the tokens they choose."""

from keras import ops

from model import Tensor
from model.config import SearchConfig
from model.masks import PADDING_ID
from model.search.candidates import IMPOSSIBLE, Candidates, TopTokens


def sample_candidates(
    top: TopTokens, live_log_probs: Tensor, uniform: Tensor, config: SearchConfig
) -> Candidates:
    """Draws one continuation of each hypothesis from the model's distribution.

    The distribution is sharpened by the temperature, then cut to the `top_k` most probable tokens,
    then to the fewest of these that sum to `top_p` (nucleus sampling, Holtzman et al. 2020).

    Args:
        top: at least `top_k` tokens, or all, of each hypothesis.
        live_log_probs: float32 `[B, W]`, of the hypotheses, in nats.
        uniform: float32 `[B, W]`, random numbers, at least 0 and below 1.
        config: temperature, `top_k` and `top_p`.
    """
    allowed = top.log_probs > IMPOSSIBLE / 2
    if config.top_k:
        allowed &= ops.cumsum(ops.cast(allowed, "int32"), axis=-1) <= config.top_k
    scaled = ops.where(allowed, top.log_probs / config.temperature, IMPOSSIBLE)
    probabilities = ops.softmax(scaled, axis=-1)  # [B, W, N]
    before = ops.cumsum(probabilities, axis=-1) - probabilities
    nucleus = ops.where(before < config.top_p, probabilities, 0.0)
    cumulative = ops.cumsum(nucleus, axis=-1)
    # Inverse transform sampling: the first token whose cumulative probability exceeds the number.
    passed = (cumulative <= uniform[:, :, None] * cumulative[:, :, -1:]) | (nucleus == 0.0)
    drawn = ops.argmin(ops.cast(passed, "int32"), axis=-1)[:, :, None]  # [B, W, 1]
    batch, width = ops.shape(live_log_probs)
    log_probs = ops.take_along_axis(top.log_probs, drawn, axis=2)[:, :, 0]  # [B, W]
    return Candidates(
        log_probs + live_log_probs,
        ops.broadcast_to(ops.arange(width)[None], (batch, width)),
        ops.take_along_axis(top.tokens, drawn, axis=2)[:, :, 0],
    )


def sentence_keys(source: Tensor) -> Tensor:
    """Hashes the tokens of each sentence, int `[B, S]`, except padding: uint32 `[B]`."""
    positions = ops.cast(ops.arange(ops.shape(source)[1]), "uint32")  # [S]
    hashes = _scramble(_scramble(positions) + ops.cast(source, "uint32"))  # [B, S]
    return ops.sum(ops.where(ops.equal(source, PADDING_ID), 0, hashes), axis=1)


def random_numbers(keys: Tensor, position: Tensor, *, width: int, seed: int) -> Tensor:
    """Computes the random numbers of all hypotheses at a position from sentence and position.

    A sentence has the same numbers in any batch, and different ones at each position.

    Args:
        keys: uint32 `[B]`, the `sentence_keys`.
        position: int scalar.
        width: W, hypotheses of a sentence.
        seed: of all numbers; only its lower 32 bits are used.

    Returns:
        float32 `[B, W]`, at least 0 and below 1, with a resolution of 2⁻²⁴.
    """
    counters = ops.cast(position * width + ops.arange(width), "uint32")  # [W]
    counters = _scramble(_scramble(counters) + ops.cast(seed & 0xFFFFFFFF, "uint32"))
    mixed = _scramble(_scramble(keys)[:, None] + counters[None])  # [B, W]
    return ops.cast(ops.right_shift(mixed, 8), "float32") * 2.0**-24


def _scramble(x: Tensor) -> Tensor:
    """Mixes the bits of each uint32 (`lowbias32`, C. Wellons, "Hash Prospector", 2018)."""
    x = (x ^ ops.right_shift(x, 16)) * ops.cast(0x7FEB352D, "uint32")
    x = (x ^ ops.right_shift(x, 15)) * ops.cast(0x846CA68B, "uint32")
    return x ^ ops.right_shift(x, 16)
