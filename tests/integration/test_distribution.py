"""N replicas that accumulate gradients k times make the updates of one device, for any N · k."""

import functools
from collections.abc import Iterator
from typing import Literal

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.config import TransformerConfig
from model.transformer import Transformer
from trainer.config import TrainingConfig
from trainer.data.input_pipeline import distribute
from trainer.training.gradients import LossGradients
from trainer.training.learning_rate import LearningRateSchedule
from trainer.training.optimizer import Adam
from trainer.training.train_step import TrainingModel
from trainer.training.update_figures import UpdateFigures

Trained = tuple[list[UpdateFigures], list[np.ndarray]]

VOCABULARY = 40
PAIRS = 16  # in a global batch, hence two in each part
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


def train(
    strategy: tf.distribute.Strategy,
    *,
    gradient_accumulation: int = 1,
    compiled: bool = False,
    precision: str = "float32",
    gradient_reduction: Literal["float32", "float16"] = "float32",
) -> Trained:
    """Trains a tiny model for a few updates; returns each step's figures and the weights."""
    keras.utils.set_random_seed(7)
    config = TransformerConfig(
        num_layers=1, model_dim=16, feed_forward_dim=24, num_heads=2, dropout=0.0
    )
    keras.config.set_dtype_policy(precision)
    try:
        with strategy.scope():
            transformer = Transformer(config, VOCABULARY)
            gradients = LossGradients(
                transformer, label_smoothing=0.1, gradient_accumulation=gradient_accumulation
            )
            training_model = TrainingModel(
                transformer, gradients, gradient_reduction=gradient_reduction, xla=compiled
            )
            # With this ε, updates are nearly proportional to gradients, also where these are tiny.
            optimizer = Adam(TrainingConfig(adam_epsilon=1.0), masked=compiled)
            optimizer.build(transformer.trainable_variables)
            training_model.compile(optimizer=optimizer, jit_compile=False, auto_scale_loss=False)
    finally:
        keras.config.set_dtype_policy("float32")
    several = [tf.data.Dataset.from_tensors(batch) for batch in uneven_batches()]
    batches = functools.reduce(tf.data.Dataset.concatenate, several)
    training_model.fit(
        distribute(batches.repeat(), strategy),
        steps_per_epoch=STEPS,
        shuffle=False,
        verbose=0,
        callbacks=[LearningRateSchedule(model_dim=16, warmup_steps=1, scale=4.0)],
    )
    assert training_model.traces == 1  # for lengths 5 and 9
    figures = training_model.read_figures()
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
        np.testing.assert_allclose(step, expected, rtol=1e-6)
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
        assert mixed.loss == pytest.approx(single.loss, rel=tolerance)
        assert mixed.finite == 1.0
        assert mixed.loss_scale == (2.0**15 if precision == "mixed_float16" else 1.0)
    for mixed_weights, single_weights in zip(weights, one_device[1], strict=True):
        assert mixed_weights.dtype == np.float32
        np.testing.assert_allclose(mixed_weights, single_weights, atol=10 * tolerance)


def test_gradients_summed_in_float16_are_those_of_float32_to_three_digits(
    eight_cpus: list[str], one_device: Trained
) -> None:
    figures, _ = train(mirrored(eight_cpus[:2]), gradient_reduction="float16")
    for reduced, single in zip(figures, one_device[0], strict=True):
        assert reduced.gradient_norm == pytest.approx(single.gradient_norm, rel=1e-3)
        assert reduced.loss == pytest.approx(single.loss, rel=1e-4)
    assert figures[0].loss == pytest.approx(one_device[0][0].loss, rel=1e-6)  # stays float32
    assert figures[0].gradient_norm != one_device[0][0].gradient_norm


def test_tiny_gradients_survive_their_sum_in_float16(
    eight_cpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(self: LossGradients, *_: object, **__: object) -> tuple[tf.Tensor, list[tf.Tensor]]:
        return tf.ones(2), [tf.fill(v.shape, 1e-8) for v in self.transformer.trainable_variables]

    monkeypatch.setattr(LossGradients, "compute", compute)
    figures, weights = train(mirrored(eight_cpus[:2]), gradient_reduction="float16")
    elements = sum(weight.size for weight in weights)
    assert figures[0].gradient_norm == pytest.approx(2e-8 * elements**0.5, rel=1e-2)


def test_replicas_hold_different_numbers_of_tokens() -> None:
    for batch in uneven_batches():
        tokens = (batch["target"].reshape(8, -1) != 0).sum(axis=1)
        assert len(set(tokens)) > 3
