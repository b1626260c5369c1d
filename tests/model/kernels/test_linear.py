from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.kernels.linear import Linear, find_linears
from model.kernels.target import trace_for
from tests.helpers.small_models import fill_with_waves, numpy, wave


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 5, 3, 4)])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("options", [{"activation": "relu"}, {"use_bias": False}])
def test_a_linear_map_is_that_of_keras(
    shape: tuple[int, ...], known: bool, options: dict[str, Any]
) -> None:
    x = np.random.default_rng(1).normal(size=shape).astype("float32")
    linear, dense = Linear(6, **options), keras.layers.Dense(6, **options)
    for layer in (linear, dense):
        layer.build((None, None, 4))
    fill_with_waves(dense)
    linear.set_weights(dense.get_weights())
    signature = shape if known else (*[None] * (len(shape) - 1), 4)
    call = tf.function(linear, input_signature=[tf.TensorSpec(signature)], autograph=False)
    mapped = call(tf.constant(x))
    assert mapped.shape == (*shape[:-1], 6)
    np.testing.assert_allclose(mapped, dense(x), rtol=1e-6)


def test_a_linear_map_starts_with_the_weights_of_keras() -> None:
    kernels = []
    for layer_type in (Linear, keras.layers.Dense):
        keras.utils.set_random_seed(7)
        layer = layer_type(6)
        layer.build((None, None, 4))
        kernels.append(numpy(layer.kernel))
        assert (numpy(layer.bias) == 0.0).all()
    np.testing.assert_array_equal(kernels[0], kernels[1])


def make_linear(size: int, **options: Any) -> Linear:
    layer = Linear(size, **options)
    layer.build((None, None, 3))
    fill_with_waves(layer)
    return layer


@pytest.mark.parametrize("size", [512, 1536])
@pytest.mark.parametrize("use_bias", [True, False])
def test_search_pads_rows_that_are_a_multiple_of_2_kib_apart(size: int, use_bias: bool) -> None:
    layer, x = make_linear(size, use_bias=use_bias), wave(2, 5, 3)
    paths, trained = [weight.path for weight in layer.weights], layer.get_weights()
    expected = numpy(layer(x))
    for _ in range(2):  # a second call changes nothing
        layer.optimize_for_search()
        assert [weight.path for weight in layer.weights] == paths
        for padded, weight in zip(layer.get_weights(), trained, strict=True):
            assert padded.shape[-1] == size + 16
            assert (padded[..., :size] == weight).all() and (padded[..., size:] == 0.0).all()
    np.testing.assert_allclose(numpy(layer(x)), expected, atol=1e-6)


def test_search_on_a_gpu_pads_nothing() -> None:
    layer = make_linear(512)
    with trace_for("gpu"):
        layer.optimize_for_search()
    assert layer.optimized_for_search
    assert layer.kernel.shape[1] == 512


@pytest.mark.parametrize("size", [128, 256, 520])
def test_search_leaves_other_weights_as_they_were_trained(size: int) -> None:
    layer = make_linear(size)
    weights = layer.weights
    layer.optimize_for_search()
    assert all(now is trained for now, trained in zip(layer.weights, weights, strict=True))


def test_padded_weights_are_saved_with_a_saved_model(tmp_path: Path) -> None:
    layer, x = make_linear(512), wave(2, 3)
    expected = numpy(layer(x))
    layer.optimize_for_search()
    signature = [tf.TensorSpec([None, 3])]
    module = tf.Module()
    module.layer = layer
    module.map = tf.function(layer, input_signature=signature, autograph=False)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_allclose(loaded.map(x), expected, atol=1e-6)


def test_linear_maps_are_found_at_any_depth() -> None:
    inner, outer = keras.layers.Layer(name="inner"), keras.layers.Layer(name="outer")
    inner.first, inner.norm = Linear(2, name="first"), keras.layers.LayerNormalization()
    outer.layers, outer.last, outer.none = [inner, Linear(3, name="second")], Linear(4), None
    assert [linear.size for linear in find_linears(outer)] == [2, 3, 4]
