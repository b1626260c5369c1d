"""Adam (§5.3), with an optional moving average of the weights."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from trainer.config import TrainingConfig
from trainer.training.keras_hooks import AdamHooks
from trainer.training.replica_variables import assign, assign_add


class _Coefficients(NamedTuple):
    """Scalars of one update, the same for all variables.

    learning_rate, beta_1, beta_2: as in `TrainingConfig`.
    beta_1_power, beta_2_power: β₁ᵗ and β₂ᵗ of update number t, counted from 1.
    decay: of the moving average of the weights.
    """

    learning_rate: tf.Tensor
    beta_1: tf.Tensor
    beta_2: tf.Tensor
    beta_1_power: tf.Tensor
    beta_2_power: tf.Tensor
    decay: tf.Tensor


# With these and gradients of 0, m, v, the weights and their average stay as they are, to the bit.
_NEUTRAL = _Coefficients(0.0, 1.0, 1.0, 0.0, 0.0, 1.0)


class Adam(AdamHooks):
    """Adam for gradients that are already summed over replicas, with TensorFlow's fused update.

    Every replica computes the same update of its own copies (`replica_variables`).

    With `ema_decay` above 0 it keeps an exponential moving average of the weights among its
    variables, so checkpoints contain it: average = decay · average + (1 - decay) · weights. After
    t updates the decay is at most (1 + t) / (10 + t), as in `tf.train.ExponentialMovingAverage`:
    otherwise the initial weights would dominate the average of a short run.

    Args:
        config: β₁, β₂, ε and the decay.
        masked: whether to compute a skipped update with neutral coefficients. A condition costs
            less on a processor; on a GPU the host would have to wait for its outcome.

    Attributes:
        schedule: function from the number of an update, int64, counted from 1, to its learning
            rate, which is then assigned to `learning_rate`; `LearningRateSchedule` sets it. Without
            a schedule the rate is what `learning_rate` holds.
    """

    def __init__(self, config: TrainingConfig, *, masked: bool = False) -> None:
        super().__init__(
            beta_1=config.adam_beta_1,
            beta_2=config.adam_beta_2,
            epsilon=config.adam_epsilon,
            use_ema=config.ema_decay > 0,
            ema_momentum=config.ema_decay,
            name="adam",
        )
        self.schedule: Callable[[tf.Tensor], tf.Tensor] | None = None
        self._masked = masked

    def build(self, variables: list[keras.Variable]) -> None:
        super().build(variables)
        self.start_averages(variables)

    def start_averages(self, variables: list[keras.Variable]) -> None:
        """Sets the moving averages to the present weights, those of `build`."""
        for variable, average in zip(variables, self.averages, strict=False):
            average.assign(variable)

    def averaged_weights(self, variables: list[keras.Variable]) -> dict[str, np.ndarray]:
        """Returns the moving averages by the path of their variables."""
        return {
            variable.path: keras.ops.convert_to_numpy(average)
            for variable, average in zip(variables, self.averages, strict=True)
        }

    def apply(
        self, grads: Sequence[tf.Tensor], trainable_variables: Sequence[keras.Variable]
    ) -> None:
        """Makes an update: the entry point of Keras."""
        self.apply_if(tf.constant(True), grads, trainable_variables)

    def apply_if(
        self,
        finite: tf.Tensor,
        gradients: Sequence[tf.Tensor],
        variables: Sequence[keras.Variable],
    ) -> tf.Tensor:
        """Makes an update if `finite`, a bool, and counts it in any case; runs in a replica.

        Args:
            finite: whether loss and gradients are finite.
            gradients: float32, summed over replicas.
            variables: those of `build`, in that order.

        Returns:
            The learning rate, float32.
        """
        if not self.built:
            self.build(list(variables))
        rate = self._next_learning_rate()
        coefficients = self._next_coefficients(rate)
        if self._masked:
            chosen = [tf.where(finite, *pair) for pair in zip(coefficients, _NEUTRAL, strict=True)]
            masked = [tf.where(finite, gradient, tf.zeros_like(gradient)) for gradient in gradients]
            self._update(_Coefficients(*chosen), masked, variables)
        else:
            tf.cond(finite, lambda: self._update(coefficients, gradients, variables), lambda: None)
        assign_add(self.iterations, tf.ones((), self.iterations.dtype))
        return rate

    def finalize_variable_values(self, var_list: list[keras.Variable]) -> None:
        """Leaves the weights as they are; Keras's would replace them by their averages."""

    def _next_learning_rate(self) -> tf.Tensor:
        if self.schedule is None:
            return tf.convert_to_tensor(self.learning_rate)
        rate = tf.cast(self.schedule(self.iterations.value + 1), tf.float32)
        assign(self.learning_rate, rate)
        return rate

    def _next_coefficients(self, rate: tf.Tensor) -> _Coefficients:
        updates = tf.cast(self.iterations.value, tf.float32)
        step = updates + 1.0
        return _Coefficients(
            learning_rate=rate,
            beta_1=tf.constant(self.beta_1),
            beta_2=tf.constant(self.beta_2),
            beta_1_power=tf.pow(self.beta_1, step),
            beta_2_power=tf.pow(self.beta_2, step),
            decay=tf.minimum(self.ema_momentum or 0.0, (1.0 + updates) / (10.0 + updates)),
        )

    def _update(
        self,
        coefficients: _Coefficients,
        gradients: Sequence[tf.Tensor],
        variables: Sequence[keras.Variable],
    ) -> None:
        """Updates each variable by TensorFlow's fused operation, which reads and writes it once."""
        for variable, gradient, (mean, square) in zip(
            variables, gradients, self.moments, strict=True
        ):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.value.handle,
                m=mean.value.handle,
                v=square.value.handle,
                beta1_power=coefficients.beta_1_power,
                beta2_power=coefficients.beta_2_power,
                lr=coefficients.learning_rate,
                beta1=coefficients.beta_1,
                beta2=coefficients.beta_2,
                epsilon=self.epsilon,
                grad=gradient,
            )
        for variable, average in zip(variables, self.averages, strict=False):
            decay = coefficients.decay
            assign(average, decay * average + (1.0 - decay) * variable)
