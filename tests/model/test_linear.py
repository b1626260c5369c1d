import keras
import numpy as np
import pytest
import tensorflow as tf

from model.linear import Linear, sizes


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 5, 3, 4)])
@pytest.mark.parametrize("known", [True, False])
def test_a_linear_map_is_that_of_keras(shape: tuple[int, ...], known: bool) -> None:
    x = np.random.default_rng(1).normal(size=shape).astype("float32")
    ours, dense = Linear(6, activation="relu"), keras.layers.Dense(6, activation="relu")
    for layer in (ours, dense):
        layer.build((None, None, 4))
    ours.set_weights(dense.get_weights())
    signature = shape if known else (*[None] * (len(shape) - 1), 4)
    call = tf.function(ours, input_signature=[tf.TensorSpec(signature)], autograph=False)
    found = call(tf.constant(x))
    assert found.shape == (*shape[:-1], 6)
    np.testing.assert_allclose(found, dense(x), rtol=1e-6)


@pytest.mark.parametrize(("signature", "costs"), [((None, 3, 4), False), ((None, None, 4), True)])
def test_one_unknown_size_costs_no_operation(
    signature: tuple[int | None, ...], costs: bool
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, signature)
        assert (sizes(x) == (-1, 3, 4)) is not costs
    assert any(each.type == "Shape" for each in graph.get_operations()) is costs
