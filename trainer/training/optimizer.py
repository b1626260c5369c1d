"""Adam (§5.3), and the moving average of the weights that it can keep."""

import keras
import numpy as np
import tensorflow as tf

from trainer.config import TrainingConfig


class Adam(keras.optimizers.Adam):
    """Keras's Adam for gradients that the replicas have summed already, which it would do itself.

    With `ema_decay` above 0 it keeps an exponential moving average of the weights, one of its
    variables, so that checkpoints hold it: average = decay · average + (1 - decay) · weights. After
    t updates the decay is at most (1 + t) / (10 + t), as `tf.train.ExponentialMovingAverage` has
    it: the average of a short run would be of its first weights mostly.
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

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """Updates one variable by TensorFlow's fused operation, which reads and writes it once."""
        index = self._get_variable_index(variable)
        step = tf.cast(self.iterations.value + 1, tf.float32)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=tf.pow(self.beta_1, step),
            beta2_power=tf.pow(self.beta_2, step),
            lr=learning_rate,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )

    def _update_model_variables_moving_average(self, variables: list[keras.Variable]) -> None:
        updates = tf.cast(self.iterations.value, tf.float32)
        decay = tf.minimum(self.ema_momentum, (1.0 + updates) / (10.0 + updates))
        for variable, average in zip(variables, self._averages, strict=True):
            average.assign(decay * average + (1.0 - decay) * variable)

    def finalize_variable_values(self, var_list: list[keras.Variable]) -> None:
        """Leaves the weights; Keras's would make averages of them before the last checkpoint."""

    @property
    def _averages(self) -> list[keras.Variable]:
        return self._model_variables_moving_average if self.use_ema else []

    def _all_reduce_sum_gradients(
        self, grads_and_vars: list[tuple[tf.Tensor, tf.Variable]]
    ) -> list[tuple[tf.Tensor, tf.Variable]]:
        return grads_and_vars
