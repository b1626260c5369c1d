import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.config import TransformerConfig
from model.transformer import Transformer
from trainer.runtime.startup import processor_cores
from trainer.training.loss import cross_entropy
from trainer.training.loss_scale import GROWTH_UPDATES, INITIAL_SCALE, LossScale
from trainer.training.train_step import TrainingModel

MakeTrainingModel = Callable[..., TrainingModel]
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


def weights_of(training_model: TrainingModel) -> list[np.ndarray]:
    return [variable.numpy() for variable in training_model.transformer.trainable_variables]


def means_of(training_model: TrainingModel) -> list[np.ndarray]:
    """Adam's averages of the gradients: unlike its updates, they show the gradients' scale."""
    return [v.numpy() for v in training_model.optimizer.variables if v.path.endswith("momentum")]


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


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gradient_accumulation": 4},
        {"gradient_accumulation": 2, "jit_compile": True},
        {"parts_at_once": 3},  # of two rows each, of which the batch fills four
        {"gradient_accumulation": 2, "parts_at_once": 4},
    ],
)
def test_updates_are_those_computed_by_hand(
    reuse_training_model: MakeTrainingModel,
    without_dropout: TransformerConfig,
    settings: dict[str, Any],
) -> None:
    training_model = reuse_training_model(without_dropout, label_smoothing=SMOOTHING, **settings)
    training_model.optimizer.learning_rate = RATE
    adam = Adam([weights.shape for weights in weights_of(training_model)])
    for _ in range(2):
        variables = [variable.value for variable in training_model.transformer.trainable_variables]
        with tf.GradientTape() as tape:
            loss, nll = expected_losses(training_model.transformer, batch_of())
        gradients = [gradient.numpy() for gradient in tape.gradient(loss, variables)]
        before = weights_of(training_model)
        logs = training_model.train_step(batch_of())
        assert float(logs["loss"]) == pytest.approx(float(loss), rel=1e-5)
        assert float(logs["nll"]) == pytest.approx(float(nll), rel=1e-5)
        norm = np.sqrt(sum(np.sum(gradient**2) for gradient in gradients))
        assert float(logs["gradient_norm"]) == pytest.approx(norm, rel=1e-4)
        assert float(logs["source_tokens"]) == SOURCE_TOKENS
        assert float(logs["target_tokens"]) == TARGET_TOKENS
        for old, change, gradient, new in zip(
            before, adam.step(gradients), gradients, weights_of(training_model), strict=True
        ):
            # Adam divides by |gradient|: where that is rounding error, so is the update.
            sure = np.abs(gradient) > 1e-6
            np.testing.assert_allclose((new - old)[sure], change[sure], rtol=0.02, atol=1e-5)
            assert sure.any()
        for received, wanted in zip(means_of(training_model), adam.means, strict=True):
            np.testing.assert_allclose(received, wanted, rtol=1e-3, atol=1e-6)


def test_smoothing_is_spread_over_the_subwords_of_the_configuration(
    make_training_model: MakeTrainingModel,
) -> None:
    vocabulary_size = make_training_model().transformer.vocabulary_size
    wrong = make_training_model(label_smoothing=SMOOTHING, label_smoothing_over="wrong")
    assert wrong.gradients.label_smoothing == SMOOTHING
    every = make_training_model(label_smoothing=SMOOTHING, label_smoothing_over="all")
    assert every.gradients.label_smoothing == pytest.approx(SMOOTHING * (1 - 1 / vocabulary_size))


def test_the_default_optimizer_is_the_paper_s(reuse_training_model: MakeTrainingModel) -> None:
    optimizer = reuse_training_model().optimizer
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.98, 1e-9)


def test_an_optimizer_that_would_sum_gradients_again_is_refused(
    make_training_model: MakeTrainingModel,
) -> None:
    training_model = make_training_model()
    with pytest.raises(ValueError, match="the optimizer SGD: expected .*optimizer.Adam"):
        training_model.compile(optimizer=keras.optimizers.SGD())


def test_dropout_is_active_while_training(reuse_training_model: MakeTrainingModel) -> None:
    training_model = reuse_training_model()
    training_model.optimizer.learning_rate = 0.0  # so that the weights stay what they are
    losses = [float(training_model.train_step(batch_of())["nll"]) for _ in range(2)]
    assert losses[0] != losses[1]


@pytest.mark.parametrize(("accumulation", "at_once"), [(4, 1), (2, 2), (1, 4)])
def test_each_part_of_a_batch_drops_other_units(
    reuse_training_model: MakeTrainingModel, accumulation: int, at_once: int
) -> None:
    """Four equal rows in four parts, so only dropout can make their losses differ."""
    equal = {"source": tf.constant([SOURCE[0]] * 4), "target": tf.constant([TARGET[0]] * 4)}
    training_model = reuse_training_model(gradient_accumulation=accumulation, parts_at_once=at_once)
    states = training_model.transformer.non_trainable_variables
    before = [state.numpy() for state in states]
    training_model.train_step(equal)
    assert [list(state.numpy() - old) for state, old in zip(states, before, strict=True)] == [
        [0, 4]
    ] * len(states)


@pytest.mark.skipif(processor_cores() < 2, reason="one core computes nothing at once")
def test_parts_are_computed_at_once(
    make_training_model: MakeTrainingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = threading.Barrier(2, timeout=60)  # passes when two wait at it

    def meet(loss: np.ndarray) -> np.ndarray:
        meeting.wait()
        return loss

    def loss_after_meeting(*arguments: Any, **options: Any) -> tuple[tf.Tensor, tf.Tensor]:
        loss, nll = cross_entropy(*arguments, **options)
        return loss, tf.numpy_function(meet, [nll], tf.float32, stateful=False)

    monkeypatch.setattr("trainer.training.gradients.cross_entropy", loss_after_meeting)
    logs = make_training_model(parts_at_once=2).train_step(batch_of())
    assert float(logs["target_tokens"]) == TARGET_TOKENS


def test_a_gpu_computes_a_batch_as_a_whole(
    make_training_model: MakeTrainingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert make_training_model(parts_at_once=2).gradients.parts_at_once == 2
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda _: ["a device"])
    assert make_training_model(parts_at_once=2).gradients.parts_at_once == 1


def test_replicas_compute_their_batches_as_a_whole(
    make_training_model: MakeTrainingModel, eight_cpus: list[str]
) -> None:
    with tf.distribute.MirroredStrategy(eight_cpus[:2]).scope():
        assert make_training_model(parts_at_once=2).gradients.parts_at_once == 1


def test_parts_at_once_give_the_same_bits_each_time(make_training_model: MakeTrainingModel) -> None:
    def train() -> list[np.ndarray]:
        keras.utils.set_random_seed(1)
        training_model = make_training_model(parts_at_once=2)
        training_model.optimizer.learning_rate = RATE
        for _ in range(5):
            training_model.train_step(batch_of())
        return weights_of(training_model)

    for received, wanted in zip(train(), train(), strict=True):
        np.testing.assert_array_equal(received, wanted)


def test_an_update_that_is_not_finite_is_counted_and_changes_nothing(
    reuse_training_model: MakeTrainingModel,
) -> None:
    training_model = reuse_training_model()
    training_model.train_step(batch_of())
    broken = training_model.transformer.trainable_variables[-1]
    broken.assign(tf.fill(broken.shape, float("nan")))
    before = weights_of(training_model) + means_of(training_model)
    logs = training_model.train_step(batch_of())
    assert not np.isfinite(float(logs["loss"]))
    assert float(logs["finite"]) == 0.0
    assert int(training_model.optimizer.iterations) == 2
    for received, wanted in zip(
        weights_of(training_model) + means_of(training_model), before, strict=True
    ):
        np.testing.assert_array_equal(received, wanted)


def test_an_update_whose_loss_alone_is_not_finite_changes_nothing(
    make_training_model: MakeTrainingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the logit of a right subword is too small for float16."""

    def overflow(*arguments: Any, **options: Any) -> tuple[tf.Tensor, tf.Tensor]:
        loss, nll = cross_entropy(*arguments, **options)
        return loss + np.inf, nll

    monkeypatch.setattr("trainer.training.gradients.cross_entropy", overflow)
    training_model = make_training_model()
    before = weights_of(training_model)
    logs = training_model.train_step(batch_of())
    assert np.isfinite(float(logs["gradient_norm"]))
    assert float(logs["finite"]) == 0.0
    for received, wanted in zip(weights_of(training_model), before, strict=True):
        np.testing.assert_array_equal(received, wanted)


@pytest.fixture
def float16() -> Iterator[None]:
    """Makes models of mixed float16."""
    keras.config.set_dtype_policy("mixed_float16")
    yield
    keras.config.set_dtype_policy("float32")


def test_a_loss_scaled_too_much_is_scaled_less(
    make_training_model: MakeTrainingModel, float16: None
) -> None:
    training_model = make_training_model()
    assert training_model.loss_scale is not None
    training_model.loss_scale.scale.assign(2.0**40)
    before = weights_of(training_model)
    logs = training_model.train_step(batch_of())
    assert (float(logs["finite"]), float(logs["loss_scale"])) == (0.0, 2.0**40)
    assert np.isfinite(float(logs["loss"]))
    assert float(training_model.loss_scale.scale) == 2.0**39
    for received, wanted in zip(weights_of(training_model), before, strict=True):
        np.testing.assert_array_equal(received, wanted)
    assert int(training_model.loss_scale.good_updates) == 0


def test_the_scale_of_the_loss_does_not_change_the_update(
    make_training_model: MakeTrainingModel, without_dropout: TransformerConfig, float16: None
) -> None:
    scaled, plain = make_training_model(without_dropout), make_training_model(without_dropout)
    for variable, weights in zip(
        plain.transformer.trainable_variables, weights_of(scaled), strict=True
    ):
        variable.assign(weights)
    assert plain.loss_scale is not None
    plain.loss_scale.scale.assign(1.0)
    losses = [
        float(training_model.train_step(batch_of())["loss"]) for training_model in (scaled, plain)
    ]
    assert losses[0] == losses[1]
    for received, wanted in zip(means_of(scaled), means_of(plain), strict=True):
        np.testing.assert_allclose(received, wanted, rtol=0.02, atol=1e-5)


def test_the_scale_of_the_loss_grows_after_many_good_updates() -> None:
    scale = LossScale()
    for _ in range(GROWTH_UPDATES - 1):
        scale.update(tf.constant(True))
    assert (float(scale.scale), int(scale.good_updates)) == (INITIAL_SCALE, GROWTH_UPDATES - 1)
    scale.update(tf.constant(True))
    assert (float(scale.scale), int(scale.good_updates)) == (2 * INITIAL_SCALE, 0)
    scale.update(tf.constant(True))
    scale.update(tf.constant(False))
    assert (float(scale.scale), int(scale.good_updates)) == (INITIAL_SCALE, 0)


def test_loss_softmax_and_norms_are_computed_in_float32(
    make_training_model: MakeTrainingModel, float16: None
) -> None:
    training_model = make_training_model()
    graph = tf.function(training_model.train_step, autograph=False).get_concrete_function(
        batch_of()
    )
    operations = [
        operation
        for function in (graph.graph, *_inner_graphs(graph.graph))
        for operation in function.get_operations()
    ]
    types: dict[str, set[tf.DType]] = {}
    for operation in operations:
        if operation.inputs:
            types.setdefault(operation.type, set()).add(operation.inputs[0].dtype)
    assert types["Softmax"] == types["Exp"] == types["Log"] == types["Rsqrt"] == {tf.float32}
    assert types["BatchMatMulV2"] == {tf.float16}


def _inner_graphs(graph: tf.Graph) -> list[tf.Graph]:
    return [function.graph for function in graph._functions.values()]


def test_replicas_drop_different_units(
    make_training_model: MakeTrainingModel, eight_cpus: list[str]
) -> None:
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        training_model = make_training_model()
    training_model.offset_dropout_seeds()

    @tf.function(autograph=False)
    def logits() -> tf.Tensor:
        whole = batch_of()
        return strategy.run(
            lambda: training_model.transformer(whole["source"], whole["target"], training=True)
        )

    for _ in range(2):
        first, second = strategy.experimental_local_results(logits())
        assert np.abs(first - second).max() > 0.01
    for state in training_model.transformer.non_trainable_variables:
        first, second = strategy.experimental_local_results(state.value)
        assert list(second - first) == [1, 0]


def test_two_replicas_make_the_update_of_one_when_padding_is_uneven(
    make_training_model: MakeTrainingModel,
    reuse_training_model: MakeTrainingModel,
    without_dropout: TransformerConfig,
    eight_cpus: list[str],
) -> None:
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    alone = reuse_training_model(without_dropout, label_smoothing=SMOOTHING)
    alone.optimizer.learning_rate = RATE
    with strategy.scope():
        mirrored = make_training_model(without_dropout, label_smoothing=SMOOTHING)
        mirrored.optimizer.learning_rate = RATE
        for variable, weights in zip(
            mirrored.transformer.trainable_variables, weights_of(alone), strict=True
        ):
            variable.assign(weights)

    def slice_of(context: tf.distribute.ReplicaContext) -> Batch:
        half = context.replica_id_in_sync_group
        return batch_of(slice(2 * half, 2 * half + 2))

    step = tf.function(mirrored.train_step, autograph=False)
    for _ in range(2):
        halves = strategy.experimental_distribute_values_from_function(slice_of)
        expected = alone.train_step(batch_of())
        per_replica = strategy.run(step, args=(halves,))
        for name, value in expected.items():
            mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, per_replica[name], axis=None)
            assert float(mean) == pytest.approx(float(value), rel=1e-5), name
    for received, wanted in zip(weights_of(mirrored), weights_of(alone), strict=True):
        np.testing.assert_allclose(received, wanted, atol=2e-4)
    for received, wanted in zip(means_of(mirrored), means_of(alone), strict=True):
        np.testing.assert_allclose(received, wanted, rtol=1e-3, atol=1e-6)
