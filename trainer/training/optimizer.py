"""Adam (§5.3), with an optional moving average of the weights."""

import keras
import numpy as np
import tensorflow as tf

from trainer.config import TrainingConfig
from trainer.training.keras_hooks import AdamHooks


class Adam(AdamHooks):
    """Adam for gradients that are already summed over replicas, with TensorFlow's fused update.

    With `ema_decay` above 0 it keeps an exponential moving average of the weights among its
    variables, so checkpoints contain it: average = decay · average + (1 - decay) · weights. After
    t updates the decay is at most (1 + t) / (10 + t), as in `tf.train.ExponentialMovingAverage`:
    otherwise the initial weights would dominate the average of a short run.

    Args:
        config: β₁, β₂, ε and the decay; `LearningRateSchedule` sets the learning rate.
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
        for variable, average in zip(variables, self.averages, strict=False):
            average.assign(variable)

    def averaged_weights(self, variables: list[keras.Variable]) -> dict[str, np.ndarray]:
        """Returns the moving averages by the path of their variables."""
        return {
            variable.path: keras.ops.convert_to_numpy(average)
            for variable, average in zip(variables, self.averages, strict=True)
        }

    def update_step(
        self, gradient: tf.Tensor, variable: tf.Variable, learning_rate: tf.Tensor
    ) -> None:
        """Updates one variable by TensorFlow's fused operation, which reads and writes it once."""
        mean, square = self.moments(variable)
        step = tf.cast(self.iterations.value + 1, tf.float32)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=mean.value.handle,
            v=square.value.handle,
            beta1_power=tf.pow(self.beta_1, step),
            beta2_power=tf.pow(self.beta_2, step),
            lr=learning_rate,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
        )

    def update_averages(self, variables: list[keras.Variable]) -> None:
        """Moves each average towards its variable, faster in the first updates."""
        updates = tf.cast(self.iterations.value, tf.float32)
        decay = tf.minimum(self.ema_momentum, (1.0 + updates) / (10.0 + updates))
        for variable, average in zip(variables, self.averages, strict=True):
            average.assign(decay * average + (1.0 - decay) * variable)

    def finalize_variable_values(self, var_list: list[keras.Variable]) -> None:
        """Leaves the weights as they are; Keras's would replace them by their averages."""
