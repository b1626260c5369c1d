from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from trainer.training import loss as loss_module
from trainer.training.loss import LOGITS_PER_CHUNK, smoothing_mass

# Three positions, two sentences; 0 is padding. V = 5.
TARGET = np.array([[3, 4, 0], [1, 0, 0]])
LOGITS = np.random.default_rng(7).normal(scale=2.0, size=(2, 3, 5)).astype(np.float32)


# Of D = 4: states and an output embedding, whose products are logits.
STATES = np.random.default_rng(8).normal(size=(2, 3, 4)).astype(np.float32)
MATRIX = np.random.default_rng(9).normal(size=(5, 4)).astype(np.float32)


def cross_entropy(
    logits: tf.Tensor, target: tf.Tensor, *, label_smoothing: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """The loss for these logits: states of V dimensions and an embedding of unit vectors."""
    unit_vectors = tf.eye(logits.shape[-1])
    return loss_module.cross_entropy(logits, unit_vectors, target, label_smoothing=label_smoothing)


def loss_in_float64(logits: np.ndarray, target: np.ndarray, smoothing: float) -> float:
    """Cross-entropy of the written-out smoothed distribution over real tokens, in float64."""
    vocabulary_size = logits.shape[-1]
    total = 0.0
    for row, label in zip(logits.reshape(-1, vocabulary_size), target.reshape(-1), strict=True):
        if label != 0:
            scores = row.astype(np.float64)
            log_probabilities = scores - np.log(np.sum(np.exp(scores)))
            distribution = np.full(vocabulary_size, smoothing / (vocabulary_size - 1))
            distribution[label] = 1.0 - smoothing
            total -= float(np.sum(distribution * log_probabilities))
    return total


def smoothed(logits: np.ndarray | tf.Tensor, smoothing: float) -> tf.Tensor:
    return cross_entropy(tf.constant(logits), tf.constant(TARGET), label_smoothing=smoothing)[0]


def gradient_of(function: object, logits: np.ndarray) -> np.ndarray:
    variable = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        value = function(variable)  # type: ignore[operator]
    return tape.gradient(value, variable).numpy()


def reference(states: tf.Tensor, matrix: tf.Tensor, label_smoothing: float) -> tf.Tensor:
    """The six lines at the top of `trainer/training/loss.py`, differentiated by TensorFlow."""
    vocabulary_size, labels = matrix.shape[0], TARGET.reshape(-1)
    weights = tf.cast(labels != 0, tf.float32)
    states = tf.reshape(states, (-1, states.shape[-1]))
    log_probabilities = tf.nn.log_softmax(tf.matmul(states, matrix, transpose_b=True))  # [N, V]
    wrong = label_smoothing / (vocabulary_size - 1)
    distribution = tf.one_hot(labels, vocabulary_size, 1 - label_smoothing, wrong)
    losses = -tf.reduce_sum(distribution * log_probabilities, axis=-1)  # [N]
    return tf.reduce_sum(weights * losses)


def test_uniform_logits_cost_log_v_whatever_the_smoothing() -> None:
    loss, nll = cross_entropy(tf.zeros((1, 1, 5)), tf.constant([[2]]), label_smoothing=0.3)
    assert float(loss) == pytest.approx(np.log(5))
    assert float(nll) == pytest.approx(np.log(5))


def test_two_subwords_give_the_sum_worked_out_by_hand() -> None:
    # V = 2, logits (0, ln 3): p = (1/4, 3/4); the label is 1, ε = 0.2 goes to subword 0 whole.
    logits = tf.constant([[[0.0, np.log(3.0)]]], tf.float32)
    loss, nll = cross_entropy(logits, tf.constant([[1]]), label_smoothing=0.2)
    assert float(nll) == pytest.approx(-np.log(0.75))
    assert float(loss) == pytest.approx(-0.8 * np.log(0.75) - 0.2 * np.log(0.25))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_the_sums_are_those_of_the_definition(smoothing: float) -> None:
    loss, nll = cross_entropy(tf.constant(LOGITS), tf.constant(TARGET), label_smoothing=smoothing)
    assert float(loss) == pytest.approx(loss_in_float64(LOGITS, TARGET, smoothing), rel=1e-6)
    assert float(nll) == pytest.approx(loss_in_float64(LOGITS, TARGET, 0.0), rel=1e-6)


def test_without_smoothing_both_sums_are_the_same() -> None:
    loss, nll = cross_entropy(tf.constant(LOGITS), tf.constant(TARGET), label_smoothing=0.0)
    assert float(loss) == float(nll)


def test_the_plain_sum_has_no_gradient() -> None:
    logits = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        _, nll = cross_entropy(logits, tf.constant(TARGET), label_smoothing=0.1)
    assert tape.gradient(nll, logits) is None


def test_large_logits_stay_finite() -> None:
    loss, nll = cross_entropy(tf.constant(LOGITS * 1e4), tf.constant(TARGET), label_smoothing=0.1)
    assert np.isfinite([float(loss), float(nll)]).all()


def test_padding_costs_nothing_and_its_logits_get_no_gradient() -> None:
    changed = np.where((TARGET == 0)[..., None], LOGITS + 3.0 * LOGITS**2, LOGITS)
    assert float(smoothed(changed, 0.1)) == float(smoothed(LOGITS, 0.1))
    gradient = gradient_of(lambda logits: smoothed(logits, 0.1), LOGITS)
    assert not gradient[TARGET == 0].any()
    assert gradient[TARGET != 0].all()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_is_that_of_automatic_differentiation(smoothing: float) -> None:
    # Scaled by 3, because the upstream gradient must be carried through.
    ours = gradient_of(lambda logits: 3.0 * smoothed(logits, smoothing), LOGITS)
    theirs = gradient_of(lambda logits: 3.0 * reference(logits, tf.eye(5), smoothing), LOGITS)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_gradient_is_that_of_finite_differences() -> None:
    gradient = gradient_of(lambda logits: smoothed(logits, 0.1), LOGITS)
    for place in np.ndindex(LOGITS.shape):
        nudge = np.zeros(LOGITS.shape)
        nudge[place] = 1e-5
        rise = loss_in_float64(LOGITS + nudge, TARGET, 0.1)
        fall = loss_in_float64(LOGITS - nudge, TARGET, 0.1)
        assert gradient[place] == pytest.approx((rise - fall) / 2e-5, abs=1e-6)


def gradients_of(
    function: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], dtype: str = "float32"
) -> list[np.ndarray]:
    """Returns the gradients of a loss with respect to states and matrix."""
    states, matrix = tf.constant(STATES, dtype), tf.constant(MATRIX)
    with tf.GradientTape() as tape:
        tape.watch([states, matrix])
        value = function(states, matrix)
    return [tf.cast(g, tf.float32).numpy() for g in tape.gradient(value, [states, matrix])]


def ours(
    states: tf.Tensor, matrix: tf.Tensor, logits_per_chunk: int = LOGITS_PER_CHUNK
) -> tf.Tensor:
    smoothed, _ = loss_module.cross_entropy(
        states, matrix, TARGET, label_smoothing=0.1, logits_per_chunk=logits_per_chunk
    )
    return 3.0 * smoothed


def theirs(states: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
    return 3.0 * reference(states, matrix, 0.1)


@pytest.mark.parametrize("logits_per_chunk", [1, 10, 11, 15, 2**25])
def test_states_and_embedding_get_their_gradients_for_every_chunk_size(
    logits_per_chunk: int,
) -> None:
    def chunked(states: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
        return ours(states, matrix, logits_per_chunk)

    assert float(chunked(STATES, MATRIX)) == pytest.approx(float(theirs(STATES, MATRIX)), rel=1e-6)
    for received, expected in zip(gradients_of(chunked), gradients_of(theirs), strict=True):
        np.testing.assert_allclose(received, expected, atol=2e-6)


@pytest.mark.parametrize(("dtype", "atol"), [("bfloat16", 0.1), ("float16", 0.02)])
def test_states_of_half_precision_get_nearly_the_same(dtype: str, atol: float) -> None:
    for received, expected in zip(gradients_of(ours, dtype), gradients_of(theirs), strict=True):
        np.testing.assert_allclose(received, expected, atol=atol)


def test_xla_compiles_it_with_the_same_result() -> None:
    @tf.function(jit_compile=True, autograph=False)
    def compiled(states: tf.Tensor, matrix: tf.Tensor) -> tf.Tensor:
        return ours(states, matrix)

    for received, expected in zip(gradients_of(compiled), gradients_of(theirs), strict=True):
        np.testing.assert_allclose(received, expected, atol=2e-6)


def test_smoothing_over_all_subwords_is_szegedys_mixture_worked_out_by_hand() -> None:
    # V = 4, ε = 0.2: each subword gets 0.05, the right one 0.8 on top, so the wrong ones 0.15.
    assert smoothing_mass(0.2, over="all", vocabulary_size=4) == pytest.approx(0.15)
    assert smoothing_mass(0.2, over="wrong", vocabulary_size=4) == 0.2
    assert smoothing_mass(0.0, over="all", vocabulary_size=4) == 0.0
