import pytest
import tensorflow as tf
from keras import ops

from model.kernels.shapes import ceil_div, sizes
from tests.helpers.small_models import numpy


@pytest.mark.parametrize(("signature", "costs"), [((None, 3, 4), False), ((None, None, 4), True)])
def test_one_unknown_size_costs_no_operation(
    signature: tuple[int | None, ...], costs: bool
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, signature)
        assert (sizes(x) == (-1, 3, 4)) is not costs
    assert any(operation.type == "Shape" for operation in graph.get_operations()) is costs


@pytest.mark.parametrize(("x", "expected"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_division_rounds_up(x: int, expected: int) -> None:
    assert ceil_div(x, 4) == expected
    assert int(numpy(ceil_div(ops.convert_to_tensor(x), 4))) == expected
