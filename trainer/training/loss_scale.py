"""Loss scaling: keeps the small gradients of float16 from becoming zero."""

import keras
import tensorflow as tf

INITIAL_SCALE = 2.0**15
GROWTH_UPDATES = 2000


class LossScale(keras.layers.Layer):
    """A factor on the loss that halves when gradients overflow and doubles when they long have not.

    Micikevicius et al. 2018 (arXiv 1710.03740), §3.2. Keras's own does not work inside
    `Strategy.run` with gradients that are not reduced yet. Both numbers are part of a checkpoint.
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
        """Adapts the scale after an update whose gradients were `finite`, bool, or were not."""
        good = tf.where(finite, self.good_updates.value + 1, 0)
        grows = good == GROWTH_UPDATES
        scale = self.scale.value * tf.where(finite, tf.where(grows, 2.0, 1.0), 0.5)
        self.scale.assign(scale)
        self.good_updates.assign(tf.where(grows, 0, good))
