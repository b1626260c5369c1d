"""N replicas that accumulate gradients k times make the updates of one device, for any N · k."""

import functools
from collections.abc import Iterator

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.config import TransformerConfig
from model.transformer import Transformer
from trainer.data.input_pipeline import distribute
from trainer.training.keras_hooks import SummedGradients
from trainer.training.learning_rate import LearningRateSchedule
from trainer.training.train_step import TrainingModel

Trained = tuple[list[dict[str, float]], list[np.ndarray]]

VOCABULARY = 40
PAIRS = 16  # in a global batch, hence two in each part
STEPS = 3


class GradientDescent(SummedGradients, keras.optimizers.SGD):
    """Takes gradients that are summed over replicas already, as `training.optimizer.Adam` does."""


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


def train(
    strategy: tf.distribute.Strategy,
    *,
    gradient_accumulation: int = 1,
    compiled: bool = False,
    precision: str = "float32",
) -> Trained:
    """Trains a tiny model for a few updates; returns each step's figures and the weights."""
    keras.utils.set_random_seed(7)
    config = TransformerConfig(
        num_layers=1, model_dim=16, feed_forward_dim=24, num_heads=2, dropout=0.0
    )
    keras.config.set_dtype_policy(precision)
    try:
        with strategy.scope():
            training_model = TrainingModel(
                Transformer(config, VOCABULARY),
                label_smoothing=0.1,
                gradient_accumulation=gradient_accumulation,
                compile_gradients=compiled,
            )
            training_model.compile(
                optimizer=GradientDescent(), jit_compile=False, auto_scale_loss=False
            )
    finally:
        keras.config.set_dtype_policy("float32")
    figures: list[dict[str, float]] = []
    record = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda _, logs: figures.append(dict(logs))
    )
    several = [tf.data.Dataset.from_tensors(batch) for batch in uneven_batches()]
    batches = functools.reduce(tf.data.Dataset.concatenate, several)
    training_model.fit(
        distribute(batches, strategy),
        steps_per_epoch=STEPS,
        shuffle=False,
        verbose=0,
        callbacks=[LearningRateSchedule(model_dim=16, warmup_steps=1, scale=4.0), record],
    )
    assert training_model.programs == (2 if compiled else 1)  # lengths 5 and 9
    assert training_model.batch_shape == (PAIRS, 5, 5)  # of the last global batch
    weights = training_model.transformer.trainable_variables
    return figures, [keras.ops.convert_to_numpy(weight) for weight in weights]


def mirrored(devices: list[str]) -> tf.distribute.Strategy:
    """MirroredStrategy that may live beside others."""
    return tf.distribute.MirroredStrategy(
        devices, cross_device_ops=tf.distribute.ReductionToOneDevice()
    )


@pytest.fixture(scope="module")
def one_device(eight_cpus: list[str]) -> Trained:
    """The run without a strategy."""
    del eight_cpus  # only orders the set-up of devices
    return train(tf.distribute.get_strategy())


@pytest.mark.parametrize(("replicas", "accumulation"), [(4, 2), (1, 8)])
def test_replicas_and_accumulation_make_the_updates_of_one_device(
    eight_cpus: list[str], one_device: Trained, replicas: int, accumulation: int
) -> None:
    strategy = mirrored(eight_cpus[:replicas]) if replicas > 1 else tf.distribute.get_strategy()
    figures, weights = train(strategy, gradient_accumulation=accumulation)
    for step, expected in zip(figures, one_device[0], strict=True):
        assert step.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(step[name], expected[name], rtol=1e-6, err_msg=name)
    for received, wanted in zip(weights, one_device[1], strict=True):
        np.testing.assert_allclose(received, wanted, atol=2e-6)


@pytest.mark.parametrize(
    ("precision", "compiled", "tolerance"),
    [("mixed_bfloat16", False, 3e-2), ("mixed_float16", True, 5e-3)],
)
@pytest.mark.heavy
def test_xla_and_mixed_precision_work_on_replicas(
    eight_cpus: list[str],
    one_device: Trained,
    precision: str,
    compiled: bool,
    tolerance: float,
) -> None:
    """With accumulation too, which XLA compiles as a loop."""
    figures, weights = train(
        mirrored(eight_cpus[:2]), gradient_accumulation=2, compiled=compiled, precision=precision
    )
    for mixed, single in zip(figures, one_device[0], strict=True):
        assert mixed["loss"] == pytest.approx(single["loss"], rel=tolerance)
        assert mixed["finite"] == 1.0
        assert mixed["loss_scale"] == (2.0**15 if precision == "mixed_float16" else 1.0)
    for mixed_weights, single_weights in zip(weights, one_device[1], strict=True):
        assert mixed_weights.dtype == np.float32
        np.testing.assert_allclose(mixed_weights, single_weights, atol=10 * tolerance)


def test_replicas_hold_different_numbers_of_tokens() -> None:
    for batch in uneven_batches():
        tokens = (batch["target"].reshape(8, -1) != 0).sum(axis=1)
        assert len(set(tokens)) > 3
