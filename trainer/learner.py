"""The training step that `Model.fit` runs: forward, objective, gradients, update (§5)."""

import keras
import tensorflow as tf

from model.transformer import Transformer
from pipeline.schema import PADDING_ID
from trainer.input import Batch
from trainer.objective import cross_entropy


class Learner(keras.Model):
    """Teaches a Transformer; one step gives the same update on any number of replicas.

    The loss is the sum over all target tokens of the global batch divided by their number, so it
    does not matter how padding falls on the replicas. (Averaging the replicas' means, as
    frameworks do by default, is another objective.)

    A step reports, for the global batch: `loss` (smoothed) and `nll` (plain), both nats per target
    token; and `source_tokens` and `target_tokens`, padding not counted.

    Args:
        transformer: the model to teach, made under the same strategy.
        label_smoothing: probability of all wrong subwords together (§5.4).
        compile_gradients: whether XLA compiles the forward and backward pass.
    """

    def __init__(
        self, transformer: Transformer, *, label_smoothing: float, compile_gradients: bool = False
    ) -> None:
        super().__init__(name="learner")
        self.transformer = transformer
        self.label_smoothing = label_smoothing
        # AutoGraph would read source files whenever it traces: editing them would break a long run.
        self._gradients_of = tf.function(
            self._compute_gradients, jit_compile=compile_gradients, autograph=False
        )
        self.built = True

    def train_step(self, data: Batch) -> dict[str, tf.Tensor]:
        """Makes one update from this replica's slice, int32 `[B, length]`, of a global batch."""
        replicas = tf.distribute.get_replica_context()
        local_tokens = tf.stack([_count_tokens(data["source"]), _count_tokens(data["target"])])
        tokens = replicas.all_reduce(tf.distribute.ReduceOp.SUM, local_tokens)
        loss, nll, gradients = self._gradients_of(data, tokens[1])
        # Keras sums gradients over replicas and reports the mean of their logs.
        self.optimizer.apply(gradients, self.transformer.trainable_variables)
        count = float(replicas.num_replicas_in_sync)
        return {
            "loss": loss * count,
            "nll": nll * count,
            "source_tokens": tokens[0],
            "target_tokens": tokens[1],
        }

    def _compute_gradients(
        self, data: Batch, target_tokens: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            logits = self.transformer(data["source"], data["target"], training=True)
            loss, nll = cross_entropy(logits, data["target"], label_smoothing=self.label_smoothing)
            loss = loss / target_tokens
        gradients = tape.gradient(loss, self.transformer.trainable_variables)
        return loss, nll / target_tokens, gradients


def _count_tokens(ids: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.cast(ids != PADDING_ID, tf.float32))
