"""The learning-rate schedule, as a formula and as a Keras callback (§5.3)."""

from typing import Any

import keras
import tensorflow as tf


def learning_rate(
    step: tf.Tensor | int, *, model_dim: int, warmup_steps: int, scale: float = 1.0
) -> tf.Tensor:
    """Returns scale · d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5) (§5.3, equation 3).

    Args:
        step: the update that uses this rate, counted from 1.
        model_dim: d_model.
        warmup_steps: updates over which the rate rises.
        scale: factor, 1 in the paper.

    Returns:
        The rate, float64. For the base model it peaks at update 4000: 512^-0.5 · 4000^-0.5 =
        0.000699.
    """
    step = tf.cast(step, tf.float64)
    return scale * model_dim**-0.5 * tf.minimum(step**-0.5, step * warmup_steps**-1.5)


class LearningRateSchedule(keras.callbacks.Callback):
    """Gives the optimizer its learning rate as a function of the update (§5.3).

    The optimizer calls the function with its own count of updates, so a resumed run continues
    exactly. The train step computes it on the device: a value assigned before each update would
    have to be copied to every replica, and would hold for a whole call of several updates.

    Args:
        model_dim: d_model.
        warmup_steps: updates over which the rate rises.
        scale: factor, 1 in the paper.
    """

    def __init__(self, *, model_dim: int, warmup_steps: int, scale: float = 1.0) -> None:
        super().__init__()
        self._model_dim = model_dim
        self._warmup_steps = warmup_steps
        self._scale = scale

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.model.optimizer.schedule = self.rate_of

    def rate_of(self, step: tf.Tensor | int) -> tf.Tensor:
        """Returns the learning rate of update number `step`, counted from 1."""
        return learning_rate(
            step,
            model_dim=self._model_dim,
            warmup_steps=self._warmup_steps,
            scale=self._scale,
        )
