import numpy as np
import pytest
import tensorflow as tf

from trainer.objective import cross_entropy, wrong_probability

# Three positions, two sentences; 0 is padding. V = 5.
TARGET = np.array([[3, 4, 0], [1, 0, 0]])
LOGITS = np.random.default_rng(7).normal(scale=2.0, size=(2, 3, 5)).astype(np.float32)


def by_definition(logits: np.ndarray, target: np.ndarray, smoothing: float) -> float:
    """Cross-entropy, in float64, of the smoothed distribution written out, over real tokens."""
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


def gradient_of(loss: object, logits: np.ndarray) -> np.ndarray:
    variable = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        value = loss(variable)  # type: ignore[operator]
    return tape.gradient(value, variable).numpy()


def naive(logits: tf.Tensor, smoothing: float) -> tf.Tensor:
    """The definition in ordinary ops, so that TensorFlow derives its gradient."""
    distribution = tf.one_hot(TARGET, 5, 1.0 - smoothing, smoothing / 4)
    losses = -tf.reduce_sum(distribution * tf.nn.log_softmax(logits), axis=-1)
    return tf.reduce_sum(tf.where(TARGET != 0, losses, 0.0))


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
    assert float(loss) == pytest.approx(by_definition(LOGITS, TARGET, smoothing), rel=1e-6)
    assert float(nll) == pytest.approx(by_definition(LOGITS, TARGET, 0.0), rel=1e-6)


def test_without_smoothing_both_sums_are_the_same() -> None:
    loss, nll = cross_entropy(tf.constant(LOGITS), tf.constant(TARGET), label_smoothing=0.0)
    assert float(loss) == float(nll)


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
    theirs = gradient_of(lambda logits: 3.0 * naive(logits, smoothing), LOGITS)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_gradient_is_that_of_finite_differences() -> None:
    gradient = gradient_of(lambda logits: smoothed(logits, 0.1), LOGITS)
    for place in np.ndindex(LOGITS.shape):
        nudge = np.zeros(LOGITS.shape)
        nudge[place] = 1e-5
        rise = by_definition(LOGITS + nudge, TARGET, 0.1)
        fall = by_definition(LOGITS - nudge, TARGET, 0.1)
        assert gradient[place] == pytest.approx((rise - fall) / 2e-5, abs=1e-6)


def test_smoothing_over_all_subwords_is_szegedys_mixture_worked_out_by_hand() -> None:
    # V = 4, ε = 0.2: each subword gets 0.05, the right one 0.8 on top, so the wrong ones 0.15.
    assert wrong_probability(0.2, over="all", vocabulary_size=4) == pytest.approx(0.15)
    assert wrong_probability(0.2, over="wrong", vocabulary_size=4) == 0.2
    assert wrong_probability(0.0, over="all", vocabulary_size=4) == 0.0
