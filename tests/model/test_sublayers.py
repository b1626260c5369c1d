import keras
import numpy as np
import pytest
from keras import ops

from model.sublayers import FeedForward, Residual, layer_normalization
from tests.helpers import numpy_reference
from tests.helpers.small_models import fill_with_waves, numpy, small_config, wave

BATCH, LENGTH, MODEL_DIM, FEED_FORWARD_DIM = 3, 6, 8, 13


@pytest.fixture
def x() -> np.ndarray:
    return wave(BATCH, LENGTH, MODEL_DIM, phase=0.5)


def make_residual(norm: str, dropout: float = 0.0) -> Residual:
    residual = Residual(small_config(norm=norm, dropout=dropout), name="residual")
    residual.build()
    fill_with_waves(residual)
    return residual


def test_feed_forward_follows_equation_2(x: np.ndarray) -> None:
    layer = FeedForward(small_config(), name="feed_forward")
    layer.build()
    fill_with_waves(layer)
    assert layer.inner.kernel.shape == (MODEL_DIM, FEED_FORWARD_DIM)
    np.testing.assert_allclose(numpy(layer(x)), numpy_reference.feed_forward(layer, x), atol=1e-5)


def test_dropout_after_the_relu_zeroes_its_share_only_in_training() -> None:
    layer = FeedForward(small_config(relu_dropout=0.375), name="feed_forward")
    layer.build()
    layer.inner.kernel.assign(np.zeros((MODEL_DIM, FEED_FORWARD_DIM)))
    layer.inner.bias.assign(np.ones(FEED_FORWARD_DIM))
    layer.outer.kernel.assign(np.eye(FEED_FORWARD_DIM, MODEL_DIM))
    layer.outer.bias.assign(np.full(MODEL_DIM, 5.0))  # never dropped out
    x = np.zeros((50, 40, MODEL_DIM), np.float32)
    assert (numpy(layer(x)) == 6.0).all()
    dropped = numpy(layer(x, training=True)) - 5.0
    kept = dropped != 0
    np.testing.assert_allclose(dropped[kept], 1 / 0.625, rtol=1e-6)
    assert abs(kept.mean() - 0.625) < 0.02  # 16,000 draws: five standard deviations


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_residual_follows_its_formula(norm: str, x: np.ndarray) -> None:
    layer = make_residual(norm)
    result = numpy(layer(x, sublayer=lambda y: y**2 + 1))
    expected = numpy_reference.residual(layer, norm, x.astype(np.float64), lambda y: y**2 + 1)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_normalisation_of_a_tiny_vector_keeps_tensor2tensors_epsilon() -> None:
    layer = make_residual("post")
    x = 1e-3 * wave(1, 1, MODEL_DIM)  # of a variance below the ε of 1e-6
    result = numpy(layer(x, sublayer=lambda y: 0 * y))
    np.testing.assert_allclose(result, numpy_reference.layer_norm(layer.norm, x), atol=1e-4)


def test_dropout_in_training_zeroes_its_share_and_scales_the_rest() -> None:
    layer = make_residual("pre", dropout=0.375)
    x = np.zeros((50, 40, MODEL_DIM), np.float32)
    dropped = numpy(layer(x, sublayer=keras.ops.ones_like, training=True))
    kept = dropped != 0
    np.testing.assert_allclose(dropped[kept], 1 / 0.625, rtol=1e-6)
    assert abs(kept.mean() - 0.625) < 0.02  # 16,000 draws: five standard deviations


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_changes_the_sublayer_only_in_training(norm: str, x: np.ndarray) -> None:
    layer, without = make_residual(norm, dropout=0.4), make_residual(norm)

    def result(layer: Residual, training: bool) -> np.ndarray:
        return numpy(layer(x, sublayer=lambda y: y + 1, training=training))

    assert (result(layer, False) == result(without, False)).all()
    assert (result(layer, True) != result(without, True)).any()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_leaves_all_but_the_sublayers_output(norm: str, x: np.ndarray) -> None:
    layer = make_residual(norm, dropout=0.4)
    in_training, after = (
        numpy(layer(x, sublayer=keras.ops.zeros_like, training=training))
        for training in (True, False)
    )
    assert (in_training == after).all()


@pytest.mark.usefixtures("bfloat16")
def test_mixed_precision_normalises_in_float32() -> None:
    """Numbers that bfloat16 holds, but whose sum it does not."""
    x = 256.0 + 2.0 * np.random.default_rng(2).integers(0, 4, (1, 50, 64))
    norm = layer_normalization(name="norm")
    normalised = numpy(ops.cast(norm(ops.convert_to_tensor(x, dtype="bfloat16")), "float32"))
    expected = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    np.testing.assert_allclose(normalised, expected, atol=1e-2)
