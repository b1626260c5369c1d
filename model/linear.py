"""Linear maps of the last axis, and reshaping around them, in few operations.

Where two sizes are unknown, Keras turns `[B, T, D]` into rows and back by a dozen operations on
shapes for every matrix product: half of all that a step of search consisted of.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any


class Linear(keras.layers.Dense):
    """`keras.layers.Dense`, which multiplies all rows of the input at once.

    Call arguments:
        x: float `[..., D]`.

    Returns:
        float `[..., units]`.
    """

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        return map_rows(super().call, x, self.units)


def map_rows(function: Callable[[Tensor], Tensor], x: Tensor, units: int) -> Tensor:
    """Applies a map of rows, from `[N, D]` to `[N, units]`, to `[..., D]`."""
    rows = ops.reshape(x, (-1, x.shape[-1]))
    return ops.reshape(function(rows), (*sizes(x)[:-1], units))


def sizes(x: Tensor) -> tuple[Any, ...]:
    """Returns the sizes of the axes of `x` for a reshape that keeps the first of them apart.

    A single unknown size is -1, which costs nothing to compute.
    """
    known = tuple(-1 if size is None else size for size in x.shape)
    return known if known.count(-1) < 2 else ops.shape(x)
