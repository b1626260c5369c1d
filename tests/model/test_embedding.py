import numpy as np
import pytest

from model.embedding import SharedEmbedding, TargetSpace
from tests.helpers import numpy_reference
from tests.helpers.small_models import VOCABULARY, fill_with_waves, numpy, small_config, wave

BATCH, LENGTH, MODEL_DIM, FEED_FORWARD_DIM = 3, 6, 8, 13


@pytest.fixture
def x() -> np.ndarray:
    return wave(BATCH, LENGTH, MODEL_DIM, phase=0.5)


@pytest.fixture
def embedding() -> SharedEmbedding:
    embedding = SharedEmbedding(small_config(), VOCABULARY, name="embedding")
    embedding.build()
    fill_with_waves(embedding)
    return embedding


def test_embedding_is_a_row_times_the_root_of_the_model_size(embedding: SharedEmbedding) -> None:
    tokens = np.array([[3, 0, 10], [1, 1, 7]])
    expected = numpy(embedding.matrix)[tokens] * np.sqrt(8.0)
    np.testing.assert_allclose(numpy(embedding(tokens)), expected, rtol=1e-6)


def test_padding_embeds_to_zeros_when_told_to_and_keeps_its_logit() -> None:
    learned, zeros = (
        SharedEmbedding(small_config(padding_embedding=kind), VOCABULARY, name="embedding")
        for kind in ("learned", "zeros")
    )
    for embedding in (learned, zeros):
        embedding.build()
        fill_with_waves(embedding)
    tokens = np.array([[3, 0, 10], [0, 1, 7]])
    expected = np.where((tokens == 0)[..., None], 0.0, numpy(learned(tokens)))
    np.testing.assert_array_equal(numpy(zeros(tokens)), expected)
    assert numpy(learned(tokens))[0, 1].any()
    x = wave(2, 3, MODEL_DIM)
    np.testing.assert_array_equal(numpy(zeros.logits(x)), numpy(learned.logits(x)))


def test_target_space_is_one_vector_for_all_positions_and_starts_within_its_limit() -> None:
    layer = TargetSpace(small_config(model_dim=968), name="target_space")
    layer.build()
    x = wave(BATCH, LENGTH, 968)
    start = numpy(layer.vector)
    np.testing.assert_allclose(numpy(layer(x)), x + start, rtol=1e-6)
    # Glorot's limit for [32, 968] is √(6 / 1000).
    assert 0.07 < np.abs(start).max() <= 0.006**0.5 and start.shape == (968,)


def test_logits_are_products_with_the_rows_unscaled(
    embedding: SharedEmbedding, x: np.ndarray
) -> None:
    expected = x.astype(np.float64) @ numpy_reference.weight(embedding.matrix).T
    np.testing.assert_allclose(numpy(embedding.logits(x)), expected, atol=1e-5)


def test_rows_start_with_a_deviation_of_the_inverse_root_of_the_model_size() -> None:
    embedding = SharedEmbedding(small_config(model_dim=64), 1000, name="embedding")
    embedding.build()
    matrix = numpy(embedding.matrix)
    assert abs(matrix.std() - 1 / 8) < 0.002 and abs(matrix.mean()) < 0.002


@pytest.mark.usefixtures("bfloat16")
def test_mixed_precision_embeds_in_bfloat16_from_float32_weights() -> None:
    embedding = SharedEmbedding(small_config(), VOCABULARY, name="embedding")
    embedded = embedding(np.array([[3, 0, 10]]))
    assert embedded.dtype == "bfloat16" and embedding.matrix.dtype == "float32"
