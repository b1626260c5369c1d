import keras
import numpy as np
import pytest
import tensorflow as tf

from model.kernels.linear import Linear, lay_out_for_search, sizes
from tests.helpers.small_models import numpy, wave


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


@pytest.mark.parametrize("size", [512, 1536])
def test_for_search_the_rows_of_weights_are_no_multiple_of_two_kibibytes_apart(size: int) -> None:
    trained, for_search = Linear(size), Linear(size, for_search=True)
    for layer in (trained, for_search):
        layer.build((None, None, 3))
    weights = {"some/kernel": wave(3, size), "some/bias": wave(size), "some/matrix": wave(2, size)}
    laid_out = lay_out_for_search(weights)
    assert laid_out["some/matrix"] is weights["some/matrix"]
    assert [weight.shape[-1] for weight in trained.weights] == [size, size]
    assert [weight.shape[-1] for weight in for_search.weights] == [size + 16, size + 16]
    trained.set_weights([weights["some/kernel"], weights["some/bias"]])
    for_search.set_weights([laid_out["some/kernel"], laid_out["some/bias"]])
    x = wave(2, 5, 3)
    np.testing.assert_allclose(numpy(for_search(x)), numpy(trained(x)), atol=1e-6)


@pytest.mark.parametrize("size", [128, 256, 520])
def test_other_weights_are_as_they_were_trained(size: int) -> None:
    layer, kernel = Linear(size, for_search=True, use_bias=False), wave(3, size)
    layer.build((None, None, 3))
    assert layer.kernel.shape == lay_out_for_search({"a/kernel": kernel})["a/kernel"].shape
    assert layer.kernel.shape == (3, size)


@pytest.mark.parametrize(("signature", "costs"), [((None, 3, 4), False), ((None, None, 4), True)])
def test_one_unknown_size_costs_no_operation(
    signature: tuple[int | None, ...], costs: bool
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, signature)
        assert (sizes(x) == (-1, 3, 4)) is not costs
    assert any(each.type == "Shape" for each in graph.get_operations()) is costs
