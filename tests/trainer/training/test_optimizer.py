"""The moving average of the weights, alone, over replicas, and after a resumption."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.config import TransformerConfig
from trainer.config import TrainingConfig
from trainer.data.input_pipeline import distribute
from trainer.runs.checkpoints import restore_latest, save_checkpoint, take_snapshot
from trainer.training.optimizer import Adam
from trainer.training.train_step import TrainingModel

MakeTrainingModel = Callable[..., TrainingModel]
DECAY, RATE = 0.75, 0.01
BATCH = {
    "source": np.array([[4, 5, 1], [8, 1, 0], [5, 6, 1], [7, 1, 0]], np.int32),
    "target": np.array([[9, 1], [5, 1], [6, 1], [1, 0]], np.int32),
}


@pytest.fixture
def without_dropout(tiny_transformer: TransformerConfig) -> TransformerConfig:
    return dataclasses.replace(tiny_transformer, dropout=0.0)


@pytest.fixture
def make(
    reuse_training_model: MakeTrainingModel, without_dropout: TransformerConfig
) -> Callable[[], TrainingModel]:
    """Returns a model without dropout in its initial state; the same one at every call."""

    def make() -> TrainingModel:
        training_model = reuse_training_model(without_dropout, ema_decay=DECAY)
        training_model.optimizer.learning_rate = RATE
        return training_model

    return make


def weights_of(training_model: TrainingModel) -> dict[str, np.ndarray]:
    return {v.path: v.numpy() for v in training_model.transformer.trainable_variables}


def averages_of(training_model: TrainingModel) -> dict[str, np.ndarray]:
    return training_model.optimizer.averaged_weights(training_model.transformer.trainable_variables)


def test_updates_are_those_of_keras_adam() -> None:
    config = TrainingConfig(adam_beta_1=0.8, adam_beta_2=0.9, adam_epsilon=1e-3)
    reference = keras.optimizers.Adam(beta_1=0.8, beta_2=0.9, epsilon=1e-3)
    results = []
    for optimizer in (Adam(config), reference):
        optimizer.learning_rate = 0.1
        weights = [keras.Variable(np.ones((3, 2), np.float32)), keras.Variable([0.5])]
        for step in range(4):
            gradients = [weights[0] * (step - 1.5) + [[1.0, -2.0]], tf.constant([1e-3])]
            optimizer.apply(gradients, weights)
        results.append([w.numpy() for w in weights])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_the_average_decays_by_its_formula_and_faster_at_first(
    make: Callable[[], TrainingModel],
) -> None:
    training_model = make()
    expected = weights_of(training_model)
    for updates, decay in ((0, 1 / 10), (1, 2 / 11), (2, 3 / 12), (99, DECAY)):
        training_model.optimizer.iterations.assign(updates)
        training_model.train_step(BATCH)
        for name, weights in weights_of(training_model).items():
            expected[name] = decay * expected[name] + (1 - decay) * weights
    averages = averages_of(training_model)
    assert averages.keys() == expected.keys()
    for name, average in averages.items():
        np.testing.assert_allclose(average, expected[name], rtol=1e-5, atol=1e-7, err_msg=name)
        assert not np.array_equal(average, weights_of(training_model)[name])


def test_the_end_of_training_leaves_the_weights_alone(make: Callable[[], TrainingModel]) -> None:
    training_model, strategy = make(), tf.distribute.get_strategy()
    batches = distribute(tf.data.Dataset.from_tensors(BATCH).repeat(), strategy)
    seen: list[dict[str, np.ndarray]] = []

    class Look(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            seen.append(weights_of(training_model))

        def on_train_end(self, logs: object = None) -> None:
            seen.append(weights_of(training_model))

    training_model.fit(batches, steps_per_epoch=3, callbacks=[Look()], shuffle=False, verbose=0)
    before, after = seen[-2:]
    for name, average in averages_of(training_model).items():
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
        assert not np.array_equal(after[name], average)


def test_a_skipped_first_update_does_not_draw_the_average_to_zero(
    make: Callable[[], TrainingModel],
) -> None:
    training_model = make()
    before = weights_of(training_model)
    scale = training_model.transformer.decoder.layers[-1].feed_forward_residual.norm.gamma
    scale.assign(scale * np.inf)
    assert float(training_model.train_step(BATCH)["finite"]) == 0.0
    scale.assign(tf.ones_like(scale))
    training_model.train_step(BATCH)
    for name, average in averages_of(training_model).items():
        expected = 2 / 11 * before[name] + 9 / 11 * weights_of(training_model)[name]
        np.testing.assert_allclose(average, expected, rtol=1e-5, atol=1e-7, err_msg=name)


def test_a_resumed_average_goes_on_to_the_same_bits(
    make: Callable[[], TrainingModel], tmp_path: Path
) -> None:
    uninterrupted = make()
    for _ in range(4):
        uninterrupted.train_step(BATCH)
    expected = averages_of(uninterrupted)
    first = make()
    for _ in range(2):
        first.train_step(BATCH)
    save_checkpoint(tmp_path, take_snapshot(first), step=2, train_seconds=0.0, keep=1)
    second = make()
    restore_latest(tmp_path, second)
    for _ in range(2):
        second.train_step(BATCH)
    for name, average in averages_of(second).items():
        np.testing.assert_array_equal(average, expected[name], err_msg=name)


def test_replicas_keep_the_average_of_one(
    make: Callable[[], TrainingModel],
    make_training_model: MakeTrainingModel,
    without_dropout: TransformerConfig,
    eight_cpus: list[str],
) -> None:
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    alone = make()
    with strategy.scope():
        keras.utils.set_random_seed(1)
        mirrored = make_training_model(without_dropout, ema_decay=DECAY)
        mirrored.optimizer.learning_rate = RATE
    step = tf.function(mirrored.train_step)

    def half(context: tf.distribute.ReplicaContext) -> dict[str, tf.Tensor]:
        start = 2 * context.replica_id_in_sync_group
        return {side: tf.constant(ids[start : start + 2]) for side, ids in BATCH.items()}

    for _ in range(3):
        alone.train_step(BATCH)
        strategy.run(step, args=(strategy.experimental_distribute_values_from_function(half),))
    for name, average in averages_of(mirrored).items():
        np.testing.assert_allclose(average, averages_of(alone)[name], atol=3e-4, err_msg=name)


def test_without_a_decay_nothing_is_kept(make_training_model: MakeTrainingModel) -> None:
    names = [variable.path for variable in make_training_model().optimizer.variables]
    assert not [name for name in names if name.endswith("average")]
