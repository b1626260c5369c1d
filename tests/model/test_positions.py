import numpy as np
import pytest

from model.positions import (
    LearnedPositions,
    SinusoidalPositions,
    make_positions,
)
from tests.helpers import numpy_reference
from tests.helpers.small_models import fill_with_waves, numpy, small_config, wave


@pytest.mark.parametrize("positions", [[0, 1, 2, 3, 4], [63, 511], [1000, 1001, 1023]])
def test_sinusoids_follow_the_closed_form(positions: list[int]) -> None:
    layer = SinusoidalPositions(small_config(model_dim=12), name="positions")
    expected = [numpy_reference.position(position, 12) for position in positions]
    # Rounding to float32 changes angles of about 1000 by 6e-8 of their size.
    np.testing.assert_allclose(numpy(layer(np.array(positions))), expected, atol=2e-4, rtol=0)


def test_sines_and_cosines_alternate() -> None:
    layer = SinusoidalPositions(small_config(model_dim=4), name="positions")
    sin_1, cos_1, sin_100th, cos_100th = 0.841471, 0.540302, 0.00999983, 0.99995
    at_0, at_1 = numpy(layer(np.array([0, 1])))
    np.testing.assert_allclose(at_0, [0, 1, 0, 1], atol=1e-7)
    np.testing.assert_allclose(at_1, [sin_1, cos_1, sin_100th, cos_100th], atol=1e-6)


@pytest.mark.parametrize("model_dim", [4, 12])
def test_halved_sinusoids_follow_tensor2tensors_form(model_dim: int) -> None:
    layer = SinusoidalPositions(
        small_config(model_dim=model_dim), name="positions", interleave=False
    )
    positions = [0, 1, 2, 63, 511]
    expected = [numpy_reference.position_halves(position, model_dim) for position in positions]
    np.testing.assert_allclose(numpy(layer(np.array(positions))), expected, atol=1e-4, rtol=0)


def test_halved_sinusoids_put_sines_first_and_reach_the_longest_wavelength() -> None:
    layer = SinusoidalPositions(small_config(model_dim=4), name="positions", interleave=False)
    sin_1, cos_1, sin_10000th, cos_10000th = 0.841471, 0.540302, 0.0001, 1.0
    at_0, at_1 = numpy(layer(np.array([0, 1])))
    np.testing.assert_allclose(at_0, [0, 0, 1, 1], atol=1e-7)
    np.testing.assert_allclose(at_1, [sin_1, sin_10000th, cos_1, cos_10000th], atol=1e-6)


def test_halved_sinusoids_of_two_dimensions_are_the_shortest() -> None:
    layer = SinusoidalPositions(small_config(model_dim=2), name="positions", interleave=False)
    np.testing.assert_allclose(numpy(layer(np.array([1])))[0], [0.841471, 0.540302], atol=1e-6)


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_positions_stay_float32_in_mixed_precision(kind: str) -> None:
    layer = make_positions(small_config(positions=kind, max_positions=1024))
    vectors = numpy(layer(np.array([1000, 1001])))
    assert vectors.dtype == np.float32
    if kind == "sinusoidal":
        expected = [numpy_reference.position(position, 8) for position in (1000, 1001)]
        np.testing.assert_allclose(vectors, expected, atol=2e-4)


def test_learned_positions_look_up_their_vector() -> None:
    layer = LearnedPositions(small_config(max_positions=5), name="positions")
    layer.build(None)
    layer.vectors.assign(wave(5, 8))
    assert (numpy(layer(np.array([3, 0]))) == wave(5, 8)[[3, 0]]).all()


def test_positions_beyond_the_last_learned_one_share_its_vector() -> None:
    layer = LearnedPositions(small_config(max_positions=5), name="positions")
    layer.build(None)
    fill_with_waves(layer)
    vectors = numpy(layer(np.array([3, 4, 5, 99])))
    assert (vectors[1:] == vectors[1]).all() and (vectors[0] != vectors[1]).any()


def test_configuration_names_the_positions() -> None:
    for name, interleave in (("sinusoidal", True), ("sinusoidal_halves", False)):
        positions = make_positions(small_config(positions=name))
        assert isinstance(positions, SinusoidalPositions)
        assert positions.interleave is interleave
    assert isinstance(make_positions(small_config(positions="learned")), LearnedPositions)
