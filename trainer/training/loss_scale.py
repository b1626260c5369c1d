"""Loss scaling: keeps small float16 gradients from underflowing to zero."""

import keras
import tensorflow as tf

from trainer.training.replica_variables import assign

INITIAL_SCALE = 2.0**15
GROWTH_UPDATES = 2000


class LossScale(keras.layers.Layer):
    """A factor on the loss: halves at an overflow, doubles after 2,000 updates without one.

    Micikevicius et al. 2018 (arXiv 1710.03740), §3.2. Keras's own loss scaling does not work inside
    `Strategy.run` with gradients that are not reduced yet. Checkpoints contain both variables.

    Attributes:
        scale: float32 scalar, the factor.
        good_updates: int32 scalar, updates since the last overflow or doubling.
    """

    def __init__(self) -> None:
        super().__init__(name="loss_scale", dtype="float32")
        self.scale = self.add_weight(
            shape=(),
            initializer=keras.initializers.Constant(INITIAL_SCALE),
            trainable=False,
            name="scale",
        )
        self.good_updates = self.add_weight(
            shape=(), initializer="zeros", dtype="int32", trainable=False, name="good_updates"
        )
        self.built = True

    def update(self, finite: tf.Tensor) -> None:
        """Adapts the scale after an update, in a replica; `finite`, bool: there was no overflow."""
        good = tf.where(finite, self.good_updates.value + 1, 0)
        grows = good == GROWTH_UPDATES
        scale = self.scale.value * tf.where(finite, tf.where(grows, 2.0, 1.0), 0.5)
        assign(self.scale, scale)
        assign(self.good_updates, tf.where(grows, 0, good))
