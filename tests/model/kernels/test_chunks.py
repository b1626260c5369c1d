import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from model import Tensor
from model.kernels.chunks import map_chunks
from tests.helpers.small_models import numpy


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 5, 6, 7])
def test_results_are_those_of_all_rows_at_once(rows: int, compiled: bool) -> None:
    x = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
    y = np.arange(rows, dtype=np.float32)
    sizes: list[int] = []

    def add(x: Tensor, y: Tensor) -> Tensor:
        sizes.append(x.shape[0])
        return ops.stack([ops.sum(x, axis=1) + y, y], axis=1)

    def call(x: Tensor, y: Tensor) -> Tensor:
        return map_chunks(add, (x, y), rows_per_chunk=3, columns=2)

    received = (tf.function(call, autograph=False) if compiled else call)(x, y)
    np.testing.assert_array_equal(numpy(received), np.stack([x.sum(axis=1) + y, y], axis=1))
    assert compiled or (len(sizes) == rows // 3 + 1 and max(sizes) <= 3)


def test_a_graph_computes_one_chunk_at_a_time() -> None:
    @tf.function(autograph=False)
    def call(x: tf.Tensor) -> tf.Tensor:
        return map_chunks(lambda x: 2.0 * x, (x,), rows_per_chunk=2, columns=1)

    graph = call.get_concrete_function(tf.TensorSpec([None, 1])).graph.as_graph_def()
    (loop,) = [node for node in graph.node if "While" in node.op]
    assert loop.attr["parallel_iterations"].i == 1
