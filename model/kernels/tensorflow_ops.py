"""TensorFlow operations in place of `keras.ops`, mostly for speed; not on other backends."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from model import Tensor
from model.kernels.target import current_target

_FEW_ROWS = 8  # up to which row by row is faster
_UINT16_VALUES = 2**16  # one random number is two dropout decisions, of 16 bits each


def while_loop(
    cond: Callable[..., Tensor], body: Callable[..., Any], state: Any, shapes: Any
) -> Any:
    """As `ops.while_loop`, with shape invariants.

    Args:
        cond: takes a state; whether to run `body` again.
        body: takes a state and returns the next.
        state: a tuple of structures of tensors.
        shapes: the same structure, from `relax_shapes`: axes that are None may change between
            iterations.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.while_loop(cond, body, state, shape_invariants=shapes)
    while cond(*state):
        state = body(*state)
    return state


def relax_shapes(state: Any, *axes: int) -> Any:
    """Shape invariants for `while_loop`: a structure's shapes, with None for some axes.

    Other backends have no shape invariants: there it returns `state`.
    """
    if keras.backend.backend() != "tensorflow":
        return state
    import tensorflow as tf

    def relax(x: Tensor) -> tf.TensorShape:
        return tf.TensorShape([None if axis in axes else size for axis, size in enumerate(x.shape)])

    return keras.tree.map_structure(relax, state)


def matmul(x: Tensor, y: Tensor, *, transpose_y: bool = False) -> Tensor:
    """As `ops.matmul`, of batches of matrices.

    Few rows, as in search, are multiplied one at a time by TensorFlow's own kernel: oneDNN does not
    replace that one, and it is fastest with single rows. On a CPU oneDNN's kernel takes up to 1.5
    times as long, and TensorFlow's with all rows up to 5 times as long, for a long cache. A GPU
    multiplies all rows at once, to read the cache once.

    Args:
        x: float `[..., M, K]`.
        y: float `[..., K, N]`, or `[..., N, K]` with `transpose_y`.
        transpose_y: whether to transpose the last two axes of `y`.

    Returns:
        float `[..., M, N]`.
    """
    if not _goes_row_by_row(x):
        return ops.matmul(x, ops.swapaxes(y, -1, -2) if transpose_y else y)
    import tensorflow as tf

    if x.shape[-2] == 1:
        return tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=x.dtype, adj_y=transpose_y)
    x, y = tf.expand_dims(x, -2), tf.expand_dims(y, -3)  # [..., M, 1, K], [..., 1, K, N]
    product = tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=x.dtype, adj_y=transpose_y)
    return tf.squeeze(product, -2)  # [..., M, N]


def softmax(x: Tensor) -> Tensor:
    """As `ops.softmax` over the last axis, without its warning about an axis of size 1.

    Attention to a single position, as in a translation of one token, has such an axis.
    """
    if keras.backend.backend() != "tensorflow":
        return ops.softmax(x, axis=-1)
    import tensorflow as tf

    return tf.nn.softmax(x)


def _goes_row_by_row(x: Tensor) -> bool:
    rows = x.shape[-2]
    if keras.backend.backend() != "tensorflow" or rows is None or rows > _FEW_ROWS:
        return False
    import tensorflow as tf

    return x.dtype == tf.float32 and current_target() == "cpu"


def fill_rows(x: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """Returns `x` with rows of zeros replaced, in place if nothing else reads `x`.

    TensorFlow's scatter update always copies its input; this scatter addition only if it must.

    Args:
        x: float `[N, K]`.
        rows: int `[M, 1]`, distinct rows of `x` that are zeros.
        values: float `[M, K]`.
    """
    if keras.backend.backend() != "tensorflow":
        return ops.scatter_update(x, rows, values)  # XLA updates in place
    import tensorflow as tf

    return tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=rows, updates=values)


def dropout(x: Tensor, rate: float, seed_generator: keras.random.SeedGenerator) -> Tensor:
    """As `keras.random.dropout`, in half the time, with 16 random bits an element instead of 32.

    The rate is therefore rounded to a multiple of 2^-16: 0.1 is 0.10001.

    Args:
        x: float, of any shape.
        rate: share of elements set to zero, at least 0 and below 1.
        seed_generator: gives the seed and advances.
    """
    if keras.backend.backend() != "tensorflow":
        return keras.random.dropout(x, rate, seed=seed_generator)
    import tensorflow as tf

    dropped = min(round(rate * _UINT16_VALUES), _UINT16_VALUES - 1)
    scale = tf.constant(_UINT16_VALUES / (_UINT16_VALUES - dropped), x.dtype)
    seed = tf.cast(seed_generator.next() % tf.int32.max, tf.int32)
    count = tf.size(x)
    words = tf.random.stateless_uniform(
        [(count + 1) // 2], seed, minval=None, maxval=None, dtype=tf.uint32
    )
    numbers = tf.reshape(tf.bitcast(words, tf.uint16), [-1])[:count]
    factors = tf.where(numbers < dropped, tf.zeros_like(scale), scale)
    return x * tf.reshape(factors, tf.shape(x))
