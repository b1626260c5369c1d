"""Loss and gradients of one replica's share of a batch, computed in equal parts (§5)."""

from collections.abc import Collection

import keras
import tensorflow as tf

from model.transformer import Transformer
from trainer.data.input_pipeline import Batch
from trainer.training.loss import cross_entropy

Gradients = list[tf.Tensor]


class LossGradients:
    """The loss of a batch and its gradients.

    Args:
        transformer: the model to train.
        label_smoothing: probability of all wrong subwords together (§5.4).
        gradient_accumulation: equal parts of a batch that are computed sequentially, to save
            memory.
        parts_at_once: equal parts of each of these that are computed in parallel: processor cores
            that share operations wait for one another, and cores with a part each do not.
        freeze: parts of the model that are not trained, of `trainer.config.PARTS`.

    Attributes:
        variables: the weights that are trained, in the order of the gradients.
    """

    def __init__(
        self,
        transformer: Transformer,
        *,
        label_smoothing: float,
        gradient_accumulation: int = 1,
        parts_at_once: int = 1,
        freeze: Collection[str] = (),
    ) -> None:
        self.transformer = transformer
        self.variables = [
            variable
            for variable in transformer.trainable_variables
            if part_of(variable) not in freeze
        ]
        self.label_smoothing = label_smoothing
        self.parts = gradient_accumulation * parts_at_once
        self.parts_at_once = parts_at_once

    def compute(
        self, data: Batch, target_tokens: tf.Tensor, *, scale: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, Gradients]:
        """Returns a batch's share of `[loss, nll]`, nats per target token, and of the gradients.

        Args:
            data: "source" and "target", int32 `[B, length]`.
            target_tokens: real target tokens of the global batch.
            scale: factor of the loss while gradients are computed, against underflow.
        """
        if self.parts == 1:
            losses, gradients = self._differentiate(data, target_tokens, scale)
        else:
            losses, gradients = self._accumulate(data, target_tokens, scale)
        if scale is not None:
            gradients = [gradient / scale for gradient in gradients]
        return losses, gradients

    def _accumulate(
        self, data: Batch, target_tokens: tf.Tensor, scale: tf.Tensor | None
    ) -> tuple[tf.Tensor, Gradients]:
        """Sums `_differentiate` over the parts, `parts_at_once` of them in parallel."""
        parts = {name: self._divide(ids) for name, ids in data.items()}

        def add_part(part: tf.Tensor, losses: tf.Tensor, gradients: Gradients) -> list[object]:
            batch = {side: ids[part] for side, ids in parts.items()}
            of_part = self._differentiate(batch, target_tokens, scale)
            return [part + 1, *tf.nest.map_structure(tf.add, (losses, gradients), of_part)]

        zeros = [tf.zeros(variable.shape, tf.float32) for variable in self.variables]
        _, losses, gradients = tf.while_loop(
            lambda part, *_: part < self.parts,
            add_part,
            [0, tf.zeros(2), zeros],
            parallel_iterations=self.parts_at_once,
            maximum_iterations=self.parts,
        )
        return losses, gradients

    def _divide(self, ids: tf.Tensor) -> tf.Tensor:
        """Reshapes `[B, length]` to `[parts, B / parts, length]`, after padding with empty rows."""
        rows, length = tf.unstack(tf.shape(ids))
        padded = tf.pad(ids, [[0, -rows % self.parts], [0, 0]])
        return tf.reshape(padded, (self.parts, -1, length))

    def _differentiate(
        self, data: Batch, target_tokens: tf.Tensor, scale: tf.Tensor | None
    ) -> tuple[tf.Tensor, Gradients]:
        # Watching only what is trained: nothing is propagated back into frozen layers.
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([variable.value for variable in self.variables])
            states = self.transformer.decode(data["source"], data["target"], training=True)
            loss, nll = cross_entropy(
                states,
                self.transformer.embedding.matrix,
                data["target"],
                label_smoothing=self.label_smoothing,
            )
            loss = loss / target_tokens
            scaled = loss if scale is None else loss * scale
        gradients = tape.gradient(scaled, self.variables)
        return tf.stack([loss, nll / target_tokens]), [tf.convert_to_tensor(g) for g in gradients]


def part_of(variable: keras.Variable) -> str:
    """Returns the part of the model, of `trainer.config.PARTS`, that a weight belongs to."""
    layer = variable.path.split("/")[1]
    return layer if layer in ("encoder", "decoder") else "embedding"
