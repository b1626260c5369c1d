"""The best of many: top-k over a vocabulary by blocks."""

import math

from keras import ops

from model import Tensor
from model.kernels.gather import batch_gather
from model.kernels.shapes import ceil_div

_LOWEST = -1e9  # below all logits


def top_k(x: Tensor, count: int | Tensor) -> tuple[Tensor, Tensor]:
    """As `ops.top_k` of float `[B, W, V]`, with at most V results: values and indices.

    The best `count` elements lie in the `count` blocks whose maxima are the best. Finding maxima is
    much cheaper than sorting, so the sort is of `count` blocks instead of the whole vocabulary.

    Returns:
        float and int32 `[B, W, count]`, best first.
    """
    size = ops.shape(x)[2]
    if not isinstance(count, int):
        return ops.top_k(x, ops.minimum(count, size))
    block = _block_size(size, count)
    blocks = ceil_div(size, block)
    if count >= blocks:
        return ops.top_k(x, min(count, size))
    return _top_k_by_blocks(x, count, block, blocks)


def _block_size(size: int, count: int) -> int:
    """Balances the choice of blocks with the choice within them; prefers to need no padding."""
    root = math.isqrt(max(2 * size // count, 1))
    return next((block for block in range(root, 2 * root) if size % block == 0), root)


def _top_k_by_blocks(x: Tensor, count: int, block: int, blocks: int) -> tuple[Tensor, Tensor]:
    batch, width, size = ops.shape(x)
    padding = ((0, 0), (0, 0), (0, blocks * block - size))
    x = ops.pad(x, padding, constant_values=_LOWEST)  # [B, W, blocks * block]
    rows = ops.reshape(x, (batch * width, blocks, block))
    _, best = ops.top_k(ops.max(rows, axis=2), count)  # [B * W, count]
    in_best = ops.reshape(batch_gather(rows, best), (batch * width, -1))  # [B * W, count * block]
    values, places = ops.top_k(in_best, count)  # [B * W, count]
    indices = batch_gather(best, places // block) * block + places % block  # [B * W, count]
    shape = (batch, width, count)
    return ops.reshape(values, shape), ops.reshape(indices, shape)
