"""Reshaping in few operations.

Where two sizes are unknown, Keras turns `[B, T, D]` into rows and back by a dozen operations on
shapes for every matrix product: half of all operations in a step of search.
"""

from collections.abc import Callable
from typing import Any

from keras import ops

from model import Tensor


def map_rows(function: Callable[[Tensor], Tensor], x: Tensor, size: int) -> Tensor:
    """Applies a map of rows, from `[N, D]` to `[N, size]`, to `[..., D]`."""
    rows = ops.reshape(x, (-1, x.shape[-1]))  # [N, D]
    return ops.reshape(function(rows), (*sizes(x)[:-1], size))


def sizes(x: Tensor) -> tuple[Any, ...]:
    """Returns the sizes of the axes of `x`, for a reshape that keeps the first axes.

    A single unknown size is -1, which costs no operation.
    """
    known = tuple(-1 if size is None else size for size in x.shape)
    return known if known.count(-1) < 2 else ops.shape(x)


def ceil_div(x: Tensor, y: Tensor) -> Tensor:
    """Divides non-negative integers, rounding up: Python's or tensors."""
    return (x + y - 1) // y
