"""Self-attention to a window of positions in O(r n d): what a mask computes in O(n² d) (§4).

Queries are taken in blocks of r - 1; each block sees the keys of its own positions and of half as
many on either side, so 2 (r - 1) keys for each query, of which a mask hides all but r.
"""

from typing import Any

from keras import ops

from model.attention import MultiHeadAttention, scaled_dot_product_attention


def attend_within_window(layer: MultiHeadAttention, x: Any, size: int) -> Any:
    """Returns what `layer` gives under `model.masks.window_mask`.

    Args:
        layer: its projections are used.
        x: float `[1, n, D]`.
        size: r, odd, above 1.
    """
    length, reach = ops.shape(x)[1], size // 2
    block = 2 * reach
    blocks = (length + block - 1) // block
    query, (key, value) = layer.project_query(x), layer.project(x)  # [1, H, n, K]
    room = blocks * block - length
    query = _split(ops.pad(query, ((0, 0), (0, 0), (0, room), (0, 0))), blocks, block)
    around = ((0, 0), (0, 0), (reach, room + reach), (0, 0))
    key, value = (_neighbourhoods(ops.pad(side, around), blocks, block) for side in (key, value))
    starts = ops.arange(blocks)[:, None, None, None] * block
    queries = starts + ops.arange(block)[:, None]  # [blocks, 1, block, 1]
    keys = starts + ops.arange(2 * block) - reach  # [blocks, 1, 1, 2 block]
    near = (ops.abs(queries - keys) <= reach) & (keys >= 0) & (keys < length)
    mask = near | (queries >= length)  # padding may attend to anything
    heads, _ = scaled_dot_product_attention(query, key, value, mask)  # [blocks, H, block, K]
    heads = ops.reshape(
        ops.transpose(heads, (0, 2, 1, 3)), (1, blocks * block, layer.concatenated_dim)
    )
    return layer.output_projection(heads[:, :length])


def _split(x: Any, blocks: Any, block: int) -> Any:
    """Reshapes `[1, H, blocks · block, K]` to `[blocks, H, block, K]`."""
    heads, size = x.shape[1], x.shape[3]
    return ops.transpose(ops.reshape(x[0], (heads, blocks, block, size)), (1, 0, 2, 3))


def _neighbourhoods(x: Any, blocks: Any, block: int) -> Any:
    """Takes each block with half a block before and behind: `[blocks, H, 2 · block, K]`.

    Args:
        x: `[1, H, (blocks + 1) · block, K]`, which starts half a block before the first.
        blocks: how many.
        block: positions.
    """
    first = _split(x[:, :, : blocks * block], blocks, block)
    second = _split(x[:, :, block : (blocks + 1) * block], blocks, block)
    return ops.concatenate([first, second], axis=2)
