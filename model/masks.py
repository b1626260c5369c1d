"""Attention masks: boolean, True where a query may look (§3.2.3)."""

from typing import Any

from keras import ops

Tensor = Any

PADDING_ID = 0


def padding_mask(tokens: Tensor) -> Tensor:
    """Lets every query look at real tokens and at no padding.

    Args:
        tokens: int `[B, S]`, `PADDING_ID` where there is no token.

    Returns:
        bool `[B, 1, 1, S]`.
    """
    return ops.expand_dims(ops.not_equal(tokens, PADDING_ID), axis=(1, 2))


def causal_mask(length: int | Tensor) -> Tensor:
    """Lets each position look at itself and at those before it (§3.2.3).

    Args:
        length: T, tokens.

    Returns:
        bool `[1, 1, T, T]`, for T = 3 `[[1, 0, 0], [1, 1, 0], [1, 1, 1]]`.
    """
    positions = ops.arange(length)
    return ops.expand_dims(positions[:, None] >= positions[None, :], axis=(0, 1))
