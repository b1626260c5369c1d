from typing import Any

import keras
import pytest
import tensorflow as tf

from trainer.training.learning_rate import LearningRateSchedule, learning_rate


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (1, 1.746928107421711e-07),  # 512^-0.5 · 4000^-1.5 = 0.0441941738 · 3.9528471e-06
        (4_000, 6.987712429686843e-04),  # the peak, 512^-0.5 · 4000^-0.5 = (512 · 4000)^-0.5
        (4_001, 6.986839110e-04),  # falls from here on: 512^-0.5 · 4001^-0.5
        (100_000, 1.3975424859373685e-04),  # 512^-0.5 · 100000^-0.5, a fifth of the peak
    ],
)
def test_the_rate_is_that_of_the_paper_s_base_model(step: int, expected: float) -> None:
    assert learning_rate(step, model_dim=512, warmup_steps=4_000) == pytest.approx(expected)


def test_the_scale_multiplies_the_rate() -> None:
    once = learning_rate(7, model_dim=64, warmup_steps=10)
    assert learning_rate(7, model_dim=64, warmup_steps=10, scale=3.0) == pytest.approx(3 * once)


class RecordRates(keras.callbacks.Callback):
    """Notes the learning rate that each update was made with."""

    def __init__(self) -> None:
        super().__init__()
        self.rates: list[float] = []

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.rates.append(float(self.model.optimizer.learning_rate))


def fit(model: keras.Model, updates: int) -> list[float]:
    record = RecordRates()
    schedule = LearningRateSchedule(model_dim=16, warmup_steps=3, scale=2.0)
    ones = tf.ones((1, 1))
    data = tf.data.Dataset.from_tensors((ones, ones)).repeat()
    model.fit(data, steps_per_epoch=updates, callbacks=[schedule, record], verbose=0)
    return record.rates


def test_every_update_is_made_with_its_rate_also_after_a_resume() -> None:
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    rates = fit(model, 3) + fit(model, 2)  # the second goes on from optimizer.iterations = 3
    expected = [learning_rate(n, model_dim=16, warmup_steps=3, scale=2.0) for n in range(1, 6)]
    assert rates == pytest.approx(expected)
