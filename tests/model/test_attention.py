import warnings
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from model import attention
from model.attention import MultiHeadAttention, attention_weights, scaled_dot_product_attention
from model.kernels.linear import find_linears
from model.kernels.tensorflow_ops import softmax
from tests.helpers import numpy_reference
from tests.helpers.small_models import fill_with_waves, numpy, small_config, wave

BATCH, HEADS, QUERIES, KEYS, KEY_DIM, VALUE_DIM, MODEL_DIM = 3, 2, 4, 6, 9, 10, 8

# Every query of a sentence sees other keys, and at least one.
VISIBLE = wave(BATCH, 1, QUERIES, KEYS, phase=0.3) > -0.2
VISIBLE[..., 0] |= ~VISIBLE.any(axis=-1)


@pytest.fixture
def heads() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        3 * wave(BATCH, HEADS, QUERIES, KEY_DIM, phase=1),
        3 * wave(BATCH, HEADS, KEYS, KEY_DIM, phase=2),
        wave(BATCH, HEADS, KEYS, VALUE_DIM, phase=3),
    )


@pytest.fixture
def layer() -> MultiHeadAttention:
    return make_layer()


def test_attention_follows_equation_1(heads: tuple[np.ndarray, ...]) -> None:
    query, key, value = heads
    attended, weights = map(numpy, scaled_dot_product_attention(query, key, value, VISIBLE))
    assert (weights == numpy(attention_weights(query, key, VISIBLE))).all()
    assert attended.shape == (BATCH, HEADS, QUERIES, VALUE_DIM)
    for b in range(BATCH):
        for h in range(HEADS):
            expected = numpy_reference.attend(query[b, h], key[b, h], value[b, h], VISIBLE[b, 0])
            np.testing.assert_allclose(attended[b, h], expected, atol=1e-5)


def test_masked_keys_have_no_influence_at_all(heads: tuple[np.ndarray, ...]) -> None:
    query, key, value = heads
    visible = np.array([True, True, False, True, False, True])
    hidden = ~visible[None, None, :, None]
    attended, _ = scaled_dot_product_attention(query, key, value, visible)
    changed, _ = scaled_dot_product_attention(
        query, np.where(hidden, 1e4, key), np.where(hidden, -1e4, value), visible
    )
    assert (numpy(attended) == numpy(changed)).all()


def test_attention_to_one_key_gives_no_warning() -> None:
    query, key = wave(BATCH, HEADS, 1, KEY_DIM), wave(BATCH, HEADS, 1, KEY_DIM, phase=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = attention_weights(query, key, np.ones((1, 1, 1, 1), bool))
    np.testing.assert_array_equal(numpy(weights), np.ones((BATCH, HEADS, 1, 1)))


def test_scores_too_large_for_an_exponential_still_average(
    heads: tuple[np.ndarray, ...],
) -> None:
    query, key, value = heads
    attended, _ = scaled_dot_product_attention(1e3 * query, 1e3 * key, value, VISIBLE)
    assert np.isfinite(numpy(attended)).all()


def test_dropout_is_of_the_weights(heads: tuple[np.ndarray, ...]) -> None:
    query, key, _ = heads
    one_hot = np.broadcast_to(np.eye(KEYS, dtype=np.float32), (BATCH, HEADS, KEYS, KEYS))
    averaged, weights = map(numpy, scaled_dot_product_attention(query, key, one_hot, VISIBLE))
    assert (averaged == weights).all()  # averages of unit vectors
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-6)
    dropped, before_dropout = scaled_dot_product_attention(
        query, key, one_hot, VISIBLE, dropout=lambda w: ops.where(w > 0.1, 2.0 * w, 0.0)
    )
    np.testing.assert_allclose(
        numpy(dropped), np.where(weights > 0.1, 2.0 * weights, 0.0), rtol=1e-6
    )
    assert (numpy(before_dropout) == weights).all()


def test_softmax_is_float32_for_bfloat16_inputs(
    heads: tuple[np.ndarray, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks the input: the CPU's kernel rounds only its result, other kernels every sum."""
    dtypes = []

    def recording_softmax(x: Any) -> Any:
        dtypes.append(x.dtype)
        return softmax(x)

    monkeypatch.setattr(attention, "softmax", recording_softmax)
    query, key, value = (ops.cast(x, "bfloat16") for x in heads)
    attended, weights = scaled_dot_product_attention(query, key, value, VISIBLE)
    assert dtypes == ["float32"]
    assert attended.dtype == "bfloat16" and weights.dtype == "float32"


def test_heads_project_attend_and_are_joined_one_by_one(layer: MultiHeadAttention) -> None:
    query, memory = wave(BATCH, QUERIES, MODEL_DIM), wave(BATCH, KEYS, MODEL_DIM, phase=1)
    attended = numpy(layer(query, memory, attention_mask=VISIBLE))
    assert attended.shape == (BATCH, QUERIES, MODEL_DIM)
    for b in range(BATCH):
        expected = numpy_reference.multi_head(layer, query[b], memory[b], VISIBLE[b, 0])
        np.testing.assert_allclose(attended[b], expected, atol=1e-5)


def make_layer(*, optimized_for_search: bool = False, **changes: Any) -> MultiHeadAttention:
    layer = MultiHeadAttention(small_config(**changes), name="attention")
    layer.build()
    fill_with_waves(layer)
    if optimized_for_search:
        for linear in find_linears(layer):
            linear.optimize_for_search()
    return layer


def count_products(*, self_attention: bool, optimized_for_search: bool = False) -> int:
    """Counts the matrix products in the graph of a layer whose heads have one size."""
    layer = make_layer(optimized_for_search=optimized_for_search, value_dim=KEY_DIM)

    @tf.function(autograph=False)
    def attend(x: tf.Tensor, memory: tf.Tensor) -> tf.Tensor:
        return layer(x, x if self_attention else memory, attention_mask=True)

    x = tf.zeros((BATCH, QUERIES, MODEL_DIM), layer.compute_dtype)
    operations = attend.get_concrete_function(x, x).graph.get_operations()
    return [operation.type for operation in operations].count("MatMul")


def test_projections_of_one_input_are_one_product_except_in_search() -> None:
    assert count_products(self_attention=True) == 2  # the second is the output's
    assert count_products(self_attention=False) == 3
    assert count_products(self_attention=True, optimized_for_search=True) == 4


@pytest.mark.usefixtures("bfloat16")
def test_projections_of_one_input_are_one_product_in_bfloat16_too() -> None:
    assert count_products(self_attention=True) == 2


def test_fused_and_separate_projections_give_the_same() -> None:
    fused = make_layer(value_dim=KEY_DIM)
    separate = make_layer(value_dim=KEY_DIM, optimized_for_search=True)
    query, memory = wave(BATCH, QUERIES, MODEL_DIM), wave(BATCH, KEYS, MODEL_DIM, phase=1)
    for keys, visible in ((query, VISIBLE[..., :QUERIES]), (memory, VISIBLE)):
        expected = numpy(fused(query, keys, attention_mask=visible))
        attended = numpy(separate(query, keys, attention_mask=visible))
        np.testing.assert_allclose(attended, expected, atol=1e-6)


def test_projections_have_the_papers_sizes_and_no_bias(layer: MultiHeadAttention) -> None:
    shapes = {variable.path: tuple(variable.shape) for variable in layer.variables}
    assert shapes == {
        "attention/query/kernel": (MODEL_DIM, HEADS * KEY_DIM),
        "attention/key/kernel": (MODEL_DIM, HEADS * KEY_DIM),
        "attention/value/kernel": (MODEL_DIM, HEADS * VALUE_DIM),
        "attention/output/kernel": (HEADS * VALUE_DIM, MODEL_DIM),
    }


def test_dropout_in_training_zeroes_its_share_of_the_weights_and_scales_the_rest() -> None:
    config = small_config(model_dim=2, num_heads=1, value_dim=2, attention_dropout=0.375)
    layer = MultiHeadAttention(config, name="attention")
    layer.build()
    for projection in (layer.value, layer.output_projection):
        projection.kernel.assign(np.eye(2))
    x, itself = np.ones((50, 320, 2), np.float32), np.eye(320, dtype=bool)
    assert (numpy(layer(x, x, attention_mask=itself)) == 1.0).all()
    attended = numpy(layer(x, x, attention_mask=itself, training=True))  # each weight is 1
    kept = attended != 0
    np.testing.assert_allclose(attended[kept], 1 / 0.625, rtol=1e-6)
    assert abs(kept.mean() - 0.625) < 0.02  # 16,000 draws: five standard deviations


@pytest.mark.parametrize("variance", [None, 0.5, 1.0])
def test_weights_start_uniform_with_the_variance_of_the_configuration(
    variance: float | None,
) -> None:
    options = {} if variance is None else {"attention_init_variance": variance}
    sizes = {"model_dim": 200, "num_heads": 5, "key_dim": 60, "value_dim": 40}
    layer = MultiHeadAttention(small_config(**sizes, **options), name="attention")
    layer.build()
    for projection, share in [
        (layer.query, variance or 0.5),
        (layer.key, variance or 0.5),
        (layer.value, variance or 0.5),
        (layer.output_projection, 1.0),
    ]:
        kernel = numpy(projection.kernel)
        expected = share * 2 / sum(kernel.shape)  # Glorot & Bengio (2010), equation 16
        assert kernel.var() == pytest.approx(expected, rel=0.03)  # 40,000 draws or more
        assert np.abs(kernel).max() <= np.sqrt(3 * expected) * 1.0001


def test_keys_and_values_projected_beforehand_give_the_same(layer: MultiHeadAttention) -> None:
    query, memory = wave(BATCH, QUERIES, MODEL_DIM), wave(BATCH, KEYS, MODEL_DIM, phase=1)
    key, value = layer.project(memory)
    assert tuple(key.shape) == (BATCH, HEADS, KEYS, KEY_DIM)
    assert tuple(value.shape) == (BATCH, HEADS, KEYS, VALUE_DIM)
    queries = layer.project_query(query)
    attended, _ = layer.attend(queries, key, value, attention_mask=VISIBLE)
    assert (numpy(attended) == numpy(layer(query, memory, attention_mask=VISIBLE))).all()
