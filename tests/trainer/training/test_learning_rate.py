from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.config import TrainingConfig
from trainer.training.learning_rate import LearningRateSchedule, learning_rate
from trainer.training.optimizer import Adam
from trainer.training.train_step import TrainingModel


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, 1.746928107421711e-07),  # 512^-0.5 · 4000^-1.5 = 0.0441941738 · 3.9528471e-06
        (4_000, 6.987712429686843e-04),  # the peak, 512^-0.5 · 4000^-0.5 = (512 · 4000)^-0.5
        (4_001, 6.986839110e-04),  # falls from here on: 512^-0.5 · 4001^-0.5
        (100_000, 1.3975424859373685e-04),  # 512^-0.5 · 100000^-0.5, a fifth of the peak
    ],
)
def test_the_base_model_has_the_rate_of_the_paper(step: int, expected: float) -> None:
    rate = learning_rate(step, model_dim=512, warmup_steps=4_000)
    assert float(rate) == pytest.approx(expected)


def test_the_scale_multiplies_the_rate() -> None:
    once = float(learning_rate(7, model_dim=64, warmup_steps=10))
    scaled = float(learning_rate(7, model_dim=64, warmup_steps=10, scale=3.0))
    assert scaled == pytest.approx(3 * once)


def fit(training_model: TrainingModel, updates: int) -> list[float]:
    """Returns the rate of each update, as the update itself recorded it."""
    ids = {side: np.array([[4, 1]], np.int32) for side in ("source", "target")}
    training_model.fit(
        tf.data.Dataset.from_tensors(ids).repeat(),
        steps_per_epoch=updates,
        callbacks=[LearningRateSchedule(model_dim=16, warmup_steps=3, scale=2.0)],
        shuffle=False,
        verbose=0,
    )
    return [figures.learning_rate for figures in training_model.read_figures()]


def test_every_update_is_made_with_its_rate_also_after_a_resume(
    make_training_model: Callable[..., TrainingModel],
) -> None:
    training_model = make_training_model()
    # The second goes on from optimizer.iterations = 3.
    rates = fit(training_model, 3) + fit(training_model, 2)
    expected = [
        float(learning_rate(n, model_dim=16, warmup_steps=3, scale=2.0)) for n in range(1, 6)
    ]
    assert rates == pytest.approx(expected)
    assert float(training_model.optimizer.learning_rate) == rates[-1]


def test_an_update_moves_a_weight_by_its_rate() -> None:
    """The first update of Adam, without ε, is the rate times the sign of the gradient."""
    optimizer, weight = Adam(TrainingConfig()), keras.Variable([0.5])
    optimizer.schedule = LearningRateSchedule(model_dim=16, warmup_steps=3).rate_of
    optimizer.apply([tf.constant([7.0])], [weight])
    rate = float(learning_rate(1, model_dim=16, warmup_steps=3))
    assert float(weight[0]) == pytest.approx(0.5 - rate, rel=1e-5)
