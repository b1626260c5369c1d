"""Attention masks: boolean, True where attention is allowed (§3.2.3)."""

from keras import ops

from model import Tensor

PADDING_ID = 0
END_ID = 1


def padding_mask(tokens: Tensor) -> Tensor:
    """Padding mask: True at real tokens.

    Args:
        tokens: int `[B, S]`, `PADDING_ID` where there is no token.

    Returns:
        bool `[B, 1, 1, S]`.
    """
    return ops.expand_dims(ops.not_equal(tokens, PADDING_ID), axis=(1, 2))


def number_sentences(tokens: Tensor) -> Tensor:
    """Numbers the sentences of each row; sentences are end to end, each closed by `END_ID`.

    Args:
        tokens: int `[B, S]`.

    Returns:
        int32 `[B, S]`, from 0; -1 for padding. `[7, 1, 4, 5, 1, 0]` gives `[0, 0, 1, 1, 1, -1]`.
    """
    ends = ops.cast(ops.equal(tokens, END_ID), "int32")
    numbers = ops.cumsum(ends, axis=1) - ends
    return ops.where(ops.equal(tokens, PADDING_ID), -1, numbers)


def sentence_mask(queries: Tensor, keys: Tensor) -> Tensor:
    """Sentence mask: True where query and key belong to the same sentence, or to its translation.

    Args:
        queries: int `[B, T]`, from `number_sentences`.
        keys: int `[B, S]`, from `number_sentences`.

    Returns:
        bool `[B, 1, T, S]`.
    """
    return ops.equal(queries[:, None, :, None], keys[:, None, None, :])


def positions_in_sentences(sentences: Tensor) -> Tensor:
    """Positions within sentences: the number of earlier tokens of the same sentence.

    Args:
        sentences: int `[B, T]`, from `number_sentences`.

    Returns:
        int32 `[B, T]`. `[0, 0, 1, 1, 1]` gives `[0, 1, 0, 1, 2]`.
    """
    earlier = sentence_mask(sentences, sentences) & causal_mask(ops.shape(sentences)[1])
    return ops.sum(ops.cast(earlier[:, 0], "int32"), axis=-1) - 1


def causal_mask(length: int | Tensor) -> Tensor:
    """Causal mask: True at the query's own position and at earlier ones (§3.2.3).

    Args:
        length: T, tokens.

    Returns:
        bool `[1, 1, T, T]`, for T = 3 `[[1, 0, 0], [1, 1, 0], [1, 1, 1]]`.
    """
    positions = ops.arange(length)
    return ops.expand_dims(positions[:, None] >= positions[None, :], axis=(0, 1))


def window_mask(length: int | Tensor, size: int) -> Tensor:
    """Window mask: True at the `size` positions centred on the query's own (§4, restricted).

    Args:
        length: S, tokens.
        size: r, odd.

    Returns:
        bool `[1, 1, S, S]`, for S = 4 and r = 3 `[[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1],
        [0, 0, 1, 1]]`.
    """
    positions = ops.arange(length)
    distances = ops.abs(positions[:, None] - positions[None, :])
    return ops.expand_dims(distances <= size // 2, axis=(0, 1))
