"""Batched gather: for each sentence, other rows."""

import keras
from keras import ops

from model import Tensor


def batch_gather(x: Tensor, indices: Tensor) -> Tensor:
    """Takes `indices`, int `[B, N]`, along the second axis of `x`, `[B, M, …]`.

    One operation in TensorFlow, one gather of rows elsewhere: Keras's `take_along_axis` would first
    write out an index for each element.

    Returns:
        `[B, N, …]`: for `x = [[5, 6, 7], [8, 9, 4]]` and `indices = [[2, 0], [1, 1]]`,
        `[[7, 5], [9, 9]]`.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(x, indices, batch_dims=1)
    batch, number = ops.shape(indices)
    _, size, *rest = ops.shape(x)
    rows = ops.reshape(ops.arange(batch)[:, None] * size + indices, (-1,))  # [B * N]
    taken = ops.take(ops.reshape(x, (-1, *rest)), rows, axis=0)  # [B * N, …]
    return ops.reshape(taken, (-1, number, *rest))
