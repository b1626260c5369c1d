"""What needs TensorFlow beyond `keras.ops` to be quick; other backends do without."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from model import Tensor

_FEW_ROWS = 8  # more are quicker together
_CHANCES = 2**16  # a random number decides for each half of its 32 bits


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

    A few rows with each, as in search, go one by one to TensorFlow's own kernel, which oneDNN does
    not replace and which is quickest with single rows. On a processor oneDNN's takes up to half as
    long again; TensorFlow's own, given the rows together, up to five times as long, where they meet
    a long past. A GPU should read the past once for all of them.

    Args:
        x: float `[..., M, K]`.
        y: float `[..., K, N]`, or `[..., N, K]` to be transposed.
        transpose_y: whether it is.
    """
    if not _goes_row_by_row(x):
        return ops.matmul(x, ops.swapaxes(y, -1, -2) if transpose_y else y)
    import tensorflow as tf

    if x.shape[-2] == 1:
        return tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=x.dtype, adj_y=transpose_y)
    x, y = tf.expand_dims(x, -2), tf.expand_dims(y, -3)
    product = tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=x.dtype, adj_y=transpose_y)
    return tf.squeeze(product, -2)


def _goes_row_by_row(x: Tensor) -> bool:
    rows = x.shape[-2]
    if keras.backend.backend() != "tensorflow" or rows is None or rows > _FEW_ROWS:
        return False
    import tensorflow as tf

    return x.dtype == tf.float32 and not tf.config.list_logical_devices("GPU")


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


def dropout(x: Tensor, rate: float, seed_generator: keras.random.SeedGenerator) -> Tensor:
    """Sets elements to zero and scales the others, as `keras.random.dropout`.

    There each element has a float of 32 random bits; here 16 bits, in half the time, so that the
    rate is a multiple of 2^-16: 0.1 is 0.10001.

    Args:
        x: float, of any shape.
        rate: the share of zeros, at least 0 and below 1.
        seed_generator: gives the seed, and counts on.
    """
    if keras.backend.backend() != "tensorflow":
        return keras.random.dropout(x, rate, seed=seed_generator)
    import tensorflow as tf

    dropped = min(round(rate * _CHANCES), _CHANCES - 1)
    scale = tf.constant(_CHANCES / (_CHANCES - dropped), x.dtype)
    seed = tf.cast(seed_generator.next() % tf.int32.max, tf.int32)
    count = tf.size(x)
    words = tf.random.stateless_uniform(
        [(count + 1) // 2], seed, minval=None, maxval=None, dtype=tf.uint32
    )
    chances = tf.reshape(tf.bitcast(words, tf.uint16), [-1])[:count]
    factors = tf.where(chances < dropped, tf.zeros_like(scale), scale)
    return x * tf.reshape(factors, tf.shape(x))
