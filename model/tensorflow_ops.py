"""What search needs of TensorFlow beyond `keras.ops`; other backends do without."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any


def while_loop(
    cond: Callable[..., Tensor], body: Callable[..., Any], state: Any, shapes: Any
) -> Any:
    """As `ops.while_loop`, but the shapes of the state may change, as far as `shapes` is loose.

    Args:
        cond: tells of a state whether to go on.
        body: returns the next state.
        state: a tuple of structures of tensors.
        shapes: the same structure, made by `loosened`.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.while_loop(cond, body, state, shape_invariants=shapes)
    while cond(*state):
        state = body(*state)
    return state


def loosened(state: Any, *axes: int) -> Any:
    """Returns the shapes of a structure of tensors, of any size along some axes, if they matter."""
    if keras.backend.backend() != "tensorflow":
        return state
    import tensorflow as tf

    def loosen(x: Tensor) -> tf.TensorShape:
        return tf.TensorShape([None if n in axes else size for n, size in enumerate(x.shape)])

    return keras.tree.map_structure(loosen, state)


def matmul(x: Tensor, y: Tensor, *, transpose_y: bool = False) -> Tensor:
    """As `ops.matmul`, of many matrices.

    A single row with each, as in greedy search, goes to TensorFlow's own kernel, which oneDNN
    does not replace: oneDNN's takes up to half as long again for so little in float32.

    Args:
        x: float `[..., M, K]`.
        y: float `[..., K, N]`, or `[..., N, K]` to be transposed.
        transpose_y: whether it is.
    """
    one_row = x.shape[-2] == 1 and keras.backend.standardize_dtype(x.dtype) == "float32"
    if keras.backend.backend() != "tensorflow" or not one_row:
        return ops.matmul(x, ops.swapaxes(y, -1, -2) if transpose_y else y)
    import tensorflow as tf

    return tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=x.dtype, adj_y=transpose_y)


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
