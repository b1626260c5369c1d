import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import tensorflow as tf

from model.config import TransformerConfig
from model.transformer import Transformer
from trainer.learner import Learner

MakeLearner = Callable[..., Learner]
Batch = dict[str, tf.Tensor]

SMOOTHING = 0.2
RATE, BETA_1, BETA_2, EPSILON = 0.01, 0.9, 0.98, 1e-9
# Two halves with very different numbers of real target tokens: 5 + 4 against 2 + 1.
SOURCE = [[4, 5, 6, 7, 1], [8, 9, 1, 0, 0], [5, 6, 1, 0, 0], [7, 1, 0, 0, 0]]
TARGET = [[9, 8, 7, 6, 1], [5, 4, 3, 1, 0], [6, 1, 0, 0, 0], [1, 0, 0, 0, 0]]
SOURCE_TOKENS, TARGET_TOKENS = 13, 12


@pytest.fixture
def without_dropout(tiny_transformer: TransformerConfig) -> TransformerConfig:
    return dataclasses.replace(tiny_transformer, dropout=0.0)


def batch_of(rows: slice = slice(None)) -> Batch:
    return {"source": tf.constant(SOURCE[rows]), "target": tf.constant(TARGET[rows])}


def weights_of(learner: Learner) -> list[np.ndarray]:
    return [variable.numpy() for variable in learner.transformer.trainable_variables]


def means_of(learner: Learner) -> list[np.ndarray]:
    """Adam's averages of the gradients: unlike its updates, they show the gradients' scale."""
    return [v.numpy() for v in learner.optimizer.variables if v.path.endswith("momentum")]


def expected_losses(transformer: Transformer, batch: Batch) -> tuple[tf.Tensor, tf.Tensor]:
    """The objective by its definition, in ordinary ops."""
    logits = transformer(batch["source"], batch["target"], training=False)
    labels = tf.one_hot(batch["target"], logits.shape[-1])
    log_probabilities = tf.nn.log_softmax(logits)
    real = tf.cast(batch["target"] != 0, tf.float32)
    distribution = labels * (1 - SMOOTHING) + SMOOTHING / logits.shape[-1]
    loss = -tf.reduce_sum(real[..., None] * distribution * log_probabilities)
    nll = -tf.reduce_sum(real[..., None] * labels * log_probabilities)
    return loss / TARGET_TOKENS, nll / TARGET_TOKENS


class Adam:
    """Adam by the formulas of Kingma & Ba (2015), algorithm 1, with the ε that Keras takes.

    Keras computes α · √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√v + ε), as that paper's end of §2 suggests.
    """

    def __init__(self, shapes: Sequence[tuple[int, ...]]) -> None:
        self.means = [np.zeros(shape) for shape in shapes]
        self.squares = [np.zeros(shape) for shape in shapes]
        self.updates = 0

    def step(self, gradients: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns what is added to each variable."""
        self.updates += 1
        rate = RATE * np.sqrt(1 - BETA_2**self.updates) / (1 - BETA_1**self.updates)
        changes = []
        for i, gradient in enumerate(gradients):
            self.means[i] = BETA_1 * self.means[i] + (1 - BETA_1) * gradient
            self.squares[i] = BETA_2 * self.squares[i] + (1 - BETA_2) * gradient**2
            changes.append(-rate * self.means[i] / (np.sqrt(self.squares[i]) + EPSILON))
        return changes


@pytest.mark.parametrize("jit_compile", [False, True])
def test_updates_are_those_computed_by_hand(
    make_learner: MakeLearner, without_dropout: TransformerConfig, jit_compile: bool
) -> None:
    learner = make_learner(without_dropout, label_smoothing=SMOOTHING, jit_compile=jit_compile)
    learner.optimizer.learning_rate = RATE
    adam = Adam([weights.shape for weights in weights_of(learner)])
    for _ in range(2):
        variables = [variable.value for variable in learner.transformer.trainable_variables]
        with tf.GradientTape() as tape:
            loss, nll = expected_losses(learner.transformer, batch_of())
        gradients = [each.numpy() for each in tape.gradient(loss, variables)]
        before = weights_of(learner)
        logs = learner.train_step(batch_of())
        assert float(logs["loss"]) == pytest.approx(float(loss), rel=1e-5)
        assert float(logs["nll"]) == pytest.approx(float(nll), rel=1e-5)
        assert float(logs["source_tokens"]) == SOURCE_TOKENS
        assert float(logs["target_tokens"]) == TARGET_TOKENS
        for old, change, gradient, new in zip(
            before, adam.step(gradients), gradients, weights_of(learner), strict=True
        ):
            # Adam divides by |gradient|: where that is rounding error, so is the update.
            sure = np.abs(gradient) > 1e-6
            np.testing.assert_allclose((new - old)[sure], change[sure], rtol=0.02, atol=1e-5)
            assert sure.any()
        for received, wanted in zip(means_of(learner), adam.means, strict=True):
            np.testing.assert_allclose(received, wanted, rtol=1e-3, atol=1e-6)


def test_smoothing_is_spread_over_the_subwords_of_the_configuration(
    make_learner: MakeLearner,
) -> None:
    vocabulary_size = make_learner().transformer.vocabulary_size
    wrong = make_learner(label_smoothing=SMOOTHING, label_smoothing_over="wrong")
    assert wrong.label_smoothing == SMOOTHING
    every = make_learner(label_smoothing=SMOOTHING, label_smoothing_over="all")
    assert every.label_smoothing == pytest.approx(SMOOTHING * (1 - 1 / vocabulary_size))


def test_the_default_optimizer_is_the_paper_s(make_learner: MakeLearner) -> None:
    optimizer = make_learner().optimizer
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.98, 1e-9)


def test_dropout_is_active_while_training(make_learner: MakeLearner) -> None:
    learner = make_learner()
    learner.optimizer.learning_rate = 0.0  # so that the weights stay what they are
    losses = [float(learner.train_step(batch_of())["nll"]) for _ in range(2)]
    assert losses[0] != losses[1]


def test_two_replicas_make_the_update_of_one_when_padding_is_uneven(
    make_learner: MakeLearner, without_dropout: TransformerConfig, eight_cpus: list[str]
) -> None:
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    one = make_learner(without_dropout, label_smoothing=SMOOTHING)
    one.optimizer.learning_rate = RATE
    with strategy.scope():
        two = make_learner(without_dropout, label_smoothing=SMOOTHING)
        two.optimizer.learning_rate = RATE
        for mine, theirs in zip(two.transformer.trainable_variables, weights_of(one), strict=True):
            mine.assign(theirs)

    def slice_of(context: tf.distribute.ReplicaContext) -> Batch:
        half = context.replica_id_in_sync_group
        return batch_of(slice(2 * half, 2 * half + 2))

    step = tf.function(two.train_step)
    for _ in range(2):
        halves = strategy.experimental_distribute_values_from_function(slice_of)
        expected = one.train_step(batch_of())
        per_replica = strategy.run(step, args=(halves,))
        for name, value in expected.items():
            mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, per_replica[name], axis=None)
            assert float(mean) == pytest.approx(float(value), rel=1e-5), name
    for received, wanted in zip(weights_of(two), weights_of(one), strict=True):
        np.testing.assert_allclose(received, wanted, atol=2e-4)
    for received, wanted in zip(means_of(two), means_of(one), strict=True):
        np.testing.assert_allclose(received, wanted, rtol=1e-3, atol=1e-6)
