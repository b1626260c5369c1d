import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from model.tensorflow_ops import fill_rows


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_rows_of_zeros_are_filled(dtype: str) -> None:
    x = ops.cast(ops.array([[1, 2], [0, 0], [3, 4], [0, 0]]), dtype)
    filled = fill_rows(x, ops.array([[3], [1]]), ops.cast(ops.array([[5, 6], [7, 8]]), dtype))
    np.testing.assert_array_equal(
        ops.convert_to_numpy(ops.cast(filled, "float32")), [[1, 2], [7, 8], [3, 4], [5, 6]]
    )
    assert ops.convert_to_numpy(ops.cast(x, "float32"))[3, 0] == 0  # which is still needed


def test_a_loop_neither_copies_nor_loses_what_else_reads_it() -> None:
    rows, size, steps = 64, 1 << 16, 8

    @tf.function(autograph=False)
    def fill(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def body(step: tf.Tensor, x: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, ...]:
            x = fill_rows(x, step[None, None], tf.fill((1, size), total + 1.0))
            return step + 1, x, total + x[step, 0]

        _, x, total = tf.while_loop(lambda step, *_: step < steps, body, (0, x, 0.0))
        return x, total

    start = tf.zeros((rows, size))
    x, total = fill(start)
    np.testing.assert_array_equal(x[:9, 0], [1, 2, 4, 8, 16, 32, 64, 128, 0])
    assert total == 255 and tf.reduce_sum(start) == 0
