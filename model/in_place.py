"""Writing into a large tensor without copying it, which `keras.ops` cannot with TensorFlow."""

from typing import Any

import keras
from keras import ops

Tensor = Any


def fill_rows(x: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """Returns `x` with rows of zeros replaced, in the memory of `x` if nothing else needs that.

    TensorFlow's scatter update copies all of its input always; this addition only if it must.

    Args:
        x: float `[N, K]`.
        rows: int `[M, 1]`, which rows, zeros as yet, each once.
        values: float `[M, K]`.
    """
    if keras.backend.backend() != "tensorflow":
        return ops.scatter_update(x, rows, values)  # XLA sees for itself
    import tensorflow as tf

    return tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=rows, updates=values)
