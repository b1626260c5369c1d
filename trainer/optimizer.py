"""Adam (§5.3), and the moving average of the weights that it can keep."""

import keras
import numpy as np
import tensorflow as tf

from trainer.config import TrainingConfig


class Adam(keras.optimizers.Adam):
    """Keras's Adam for gradients that the replicas have summed already, which it would do itself.

    With `ema_decay` above 0 it keeps an exponential moving average of the weights, one of its
    variables, so that checkpoints hold it: average = decay · average + (1 - decay) · weights.
    """

    def __init__(self, config: TrainingConfig) -> None:
        super().__init__(
            beta_1=config.adam_beta_1,
            beta_2=config.adam_beta_2,
            epsilon=config.adam_epsilon,
            use_ema=config.ema_decay > 0,
            ema_momentum=config.ema_decay,
            name="adam",
        )

    def build(self, variables: list[keras.Variable]) -> None:
        super().build(variables)
        for variable, average in zip(variables, self._averages, strict=False):
            average.assign(variable)

    def averaged_weights(self, variables: list[keras.Variable]) -> dict[str, np.ndarray]:
        """Returns the moving averages by the paths of the variables it was built with."""
        return {
            variable.path: keras.ops.convert_to_numpy(average)
            for variable, average in zip(variables, self._averages, strict=True)
        }

    @property
    def _averages(self) -> list[keras.Variable]:
        return self._model_variables_moving_average if self.use_ema else []

    def _all_reduce_sum_gradients(
        self, grads_and_vars: list[tuple[tf.Tensor, tf.Variable]]
    ) -> list[tuple[tf.Tensor, tf.Variable]]:
        return grads_and_vars
