"""The learning-rate schedule, as a formula and as a Keras callback (§5.3)."""

from typing import Any

import keras
from keras import ops


def learning_rate(step: int, *, model_dim: int, warmup_steps: int, scale: float = 1.0) -> float:
    """Returns scale · d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5) (§5.3, equation 3).

    Args:
        step: the update that uses this rate, counted from 1.
        model_dim: d_model.
        warmup_steps: updates over which the rate rises.
        scale: factor, 1 in the paper.

    Returns:
        The rate. For the base model it peaks at update 4000: 512^-0.5 · 4000^-0.5 = 0.000699.
    """
    return scale * model_dim**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


class LearningRateSchedule(keras.callbacks.Callback):
    """Sets the optimizer's learning rate before every update (§5.3).

    The step comes from the optimizer's count of updates, so a resumed run continues exactly.

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
        self._step = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._step = int(ops.convert_to_numpy(self.model.optimizer.iterations))

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._step += 1
        self.model.optimizer.learning_rate = learning_rate(
            self._step,
            model_dim=self._model_dim,
            warmup_steps=self._warmup_steps,
            scale=self._scale,
        )
