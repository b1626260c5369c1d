"""Linear maps of the last axis, and reshaping around them, in few operations.

Where two sizes are unknown, Keras turns `[B, T, D]` into rows and back by a dozen operations on
shapes for every matrix product: half of all that a step of search consisted of.

Weights for search have a few columns more than those that are trained. A processor's cache has the
same few places for what lies a multiple of 2 KiB apart, as the rows of a matrix of 512 columns do:
its product with a few dozen rows takes up to twice as long (BUILD.md, "Decoding speed, measured").
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

Tensor = Any


class Linear(keras.layers.Dense):
    """`keras.layers.Dense`, which multiplies all rows of the input at once.

    Args:
        size: columns of the result.
        for_search: whether the weights have the columns more that make search quick.

    Call arguments:
        x: float `[..., D]`.

    Returns:
        float `[..., size]`.
    """

    def __init__(self, size: int, *, for_search: bool = False, **kwargs: Any) -> None:
        super().__init__(size + (_spare_columns(size) if for_search else 0), **kwargs)
        self.size = size

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        y = map_rows(super().call, x, self.units)
        return y if self.units == self.size else y[..., : self.size]


def apply_together(layers: Sequence[Linear], x: Tensor) -> Tensor:
    """Applies maps without bias to float `[..., D]`: their results end to end, `[..., units]`.

    One large product and its gradients are quicker than those of several, but the kernels are
    copied side by side.
    """
    kernels = ops.concatenate([layer.kernel for layer in layers], axis=1)
    return map_rows(lambda rows: ops.matmul(rows, kernels), x, kernels.shape[1])


def lay_out_for_search(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Gives a model's trained weights, by path, the shapes that a model for search has them in."""
    return {
        path: _append_columns(weight) if path.endswith(("/kernel", "/bias")) else weight  # Linear's
        for path, weight in weights.items()
    }


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


def _spare_columns(size: int) -> int:
    """A line of the cache, where rows of float32 would lie a multiple of 2 KiB apart."""
    return 16 if size % 512 == 0 else 0


def _append_columns(weight: Tensor) -> Tensor:
    *others, size = weight.shape
    return ops.pad(weight, [(0, 0)] * len(others) + [(0, _spare_columns(size))])
