"""The number of replicas changes nothing: eight devices make the updates of one."""

from collections.abc import Iterator

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.config import TransformerConfig
from model.transformer import Transformer
from trainer.input import distribute
from trainer.learner import Learner
from trainer.schedule import LearningRateSchedule

Trained = tuple[list[dict[str, float]], list[np.ndarray]]

VOCABULARY = 40
PAIRS = 16  # in a global batch, so two for each of eight replicas
STEPS = 3


def uneven_batches() -> Iterator[dict[str, np.ndarray]]:
    """Global batches whose padding falls very unevenly: row r has about r tokens."""
    random = np.random.default_rng(0)
    for length in (5, 9, 5):
        batch = {}
        for side in ("source", "target"):
            ids = random.integers(3, VOCABULARY, (PAIRS, length))
            for row, tokens in enumerate(np.linspace(1, length, PAIRS).astype(int)):
                ids[row, tokens - 1] = 1
                ids[row, tokens:] = 0
            batch[side] = ids.astype(np.int32)
        yield batch


def train(strategy: tf.distribute.Strategy) -> Trained:
    """Trains a tiny model for a few updates; returns each step's figures and the weights."""
    keras.utils.set_random_seed(7)
    config = TransformerConfig(
        num_layers=1, model_dim=16, feed_forward_dim=24, num_heads=2, dropout=0.0
    )
    with strategy.scope():
        learner = Learner(Transformer(config, VOCABULARY), label_smoothing=0.1)
        learner.compile(optimizer=keras.optimizers.SGD(), jit_compile=False)
    figures: list[dict[str, float]] = []
    record = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda _, logs: figures.append(dict(logs))
    )
    spec = {side: tf.TensorSpec([None, None], tf.int32) for side in ("source", "target")}
    batches = tf.data.Dataset.from_generator(uneven_batches, output_signature=spec)
    learner.fit(
        distribute(batches, strategy),
        steps_per_epoch=STEPS,
        shuffle=False,
        verbose=0,
        callbacks=[LearningRateSchedule(model_dim=16, warmup_steps=1, scale=4.0), record],
    )
    weights = learner.transformer.trainable_variables
    return figures, [keras.ops.convert_to_numpy(weight) for weight in weights]


@pytest.fixture(scope="module")
def eight_replicas(eight_cpus: list[str]) -> Trained:
    """The run under MirroredStrategy on eight devices."""
    return train(
        tf.distribute.MirroredStrategy(
            eight_cpus, cross_device_ops=tf.distribute.ReductionToOneDevice()
        )
    )


@pytest.fixture(scope="module")
def one_device(eight_cpus: list[str]) -> Trained:
    """The same run without a strategy."""
    del eight_cpus  # only orders the set-up of devices
    return train(tf.distribute.get_strategy())


def test_eight_replicas_report_the_losses_of_one_device(
    eight_replicas: Trained, one_device: Trained
) -> None:
    for eight, one in zip(eight_replicas[0], one_device[0], strict=True):
        assert eight.keys() == one.keys()
        for name in one:
            np.testing.assert_allclose(eight[name], one[name], rtol=1e-6, err_msg=name)


def test_eight_replicas_reach_the_weights_of_one_device(
    eight_replicas: Trained, one_device: Trained
) -> None:
    for eight, one in zip(eight_replicas[1], one_device[1], strict=True):
        np.testing.assert_allclose(eight, one, atol=2e-6)


def test_replicas_hold_different_numbers_of_tokens() -> None:
    for batch in uneven_batches():
        tokens = (batch["target"].reshape(8, -1) != 0).sum(axis=1)
        assert len(set(tokens)) > 3
