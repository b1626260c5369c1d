"""The train step that `Model.fit` runs: forward pass, loss, gradients, update (§5)."""

from typing import Any, Literal

import tensorflow as tf

from model.transformer import Transformer
from pipeline.dataset.schema import PADDING_ID, SIDES
from trainer.data.input_pipeline import Batch
from trainer.training.gradients import Gradients, LossGradients
from trainer.training.loss_scale import LossScale
from trainer.training.optimizer import Adam
from trainer.training.update_figures import UpdateFigures
from trainer.training.update_loop import UpdateLoop

# Gradients of a mean over tokens are far below 1: scaled so, 6e-8 is still exact to 11 bits in
# float16, and 64 overflows, which skips the update as any overflow does.
_FLOAT16_SCALE = 2.0**10


class TrainingModel(UpdateLoop):
    """A Transformer with its loss and optimizer; N replicas make the update of one.

    The loss is the sum over all target tokens of the global batch divided by their number. So it
    depends neither on how padding is distributed over replicas nor on the number of parts in which
    each computes its gradients. (The mean of the replicas' means, the default of most frameworks,
    is another objective.)

    An update whose loss or gradients are not finite is counted, but changes no weight. Under
    mixed float16 the loss is scaled (`LossScale`).

    With XLA a replica runs three compiled functions: it counts tokens, computes gradients, updates.
    Between them stand only the sums over replicas.

    Args:
        transformer: the model to train, made under the same strategy.
        gradients: computes the loss and gradients of `transformer`.
        figures_kept: most updates between readings of their figures.
        gradient_reduction: dtype in which gradients are summed over replicas. (TensorFlow sums no
            bfloat16 over GPUs.)
        xla: whether XLA compiles the step.
    """

    def __init__(
        self,
        transformer: Transformer,
        gradients: LossGradients,
        *,
        figures_kept: int = 100,
        gradient_reduction: Literal["float32", "float16"] = "float32",
        xla: bool = False,
    ) -> None:
        super().__init__(figures_kept=figures_kept, name="training_model")
        self.transformer = transformer
        self.gradients = gradients
        self.loss_scale = LossScale() if transformer.compute_dtype == "float16" else None
        self.xla = xla
        replicas = self.distribute_strategy.num_replicas_in_sync
        self._reduction = gradient_reduction if replicas > 1 else "float32"
        self._count, self._gradients_of, self._apply = (
            tf.function(function, jit_compile=xla, autograph=False)
            for function in (_count_tokens, self._compute_gradients, self._apply_gradients)
        )

    def compile(self, optimizer: Adam, **settings: Any) -> None:
        """Compiles as Keras does.

        Raises:
            ValueError: if the optimizer would sum the gradients of replicas again, as Keras's do.
        """
        if not isinstance(optimizer, Adam):
            raise ValueError(
                f"received the optimizer {type(optimizer).__name__}: expected {Adam.__module__}."
                "Adam or a subclass, which takes gradients that are summed over replicas"
            )
        super().compile(optimizer=optimizer, **settings)

    def offset_dropout_seeds(self) -> None:
        """Gives each replica its own dropout masks; call it once, after restoring a checkpoint.

        A checkpoint contains the random state of the first replica; the others are offset from it.
        """

        @tf.function(autograph=False)
        def shift() -> None:
            self.distribute_strategy.run(shift_replica)

        def shift_replica() -> None:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            for state in self.transformer.non_trainable_variables:
                state.assign(state.value + tf.cast(tf.stack([replica, 0]), state.value.dtype))

        shift()

    def train_step(self, data: Batch) -> dict[str, tf.Tensor]:
        """Makes one update from this replica's slice, int32 `[B, length]`, of a global batch.

        Returns:
            The `UpdateFigures`, float32 scalars by name, which are also in `self.figures`.
        """
        (tokens,) = _sum_over_replicas([self._count(data)])
        losses, gradients = self._gradients_of(data, tokens)
        losses, *gradients = _sum_over_replicas([losses, *gradients])
        figures = self._apply(tokens, losses, gradients)
        return dict(zip(UpdateFigures._fields, tf.unstack(figures), strict=True))

    def _compute_gradients(self, data: Batch, tokens: tf.Tensor) -> tuple[tf.Tensor, Gradients]:
        """Returns this replica's share of `[loss, nll]` and of the gradients."""
        scale = self._scale() if self.loss_scale else None
        losses, gradients = self.gradients.compute(data, tokens[1], scale=scale)
        if self._reduction == "float16":
            gradients = [tf.cast(gradient * _FLOAT16_SCALE, tf.float16) for gradient in gradients]
        return losses, gradients

    def _apply_gradients(
        self, tokens: tf.Tensor, losses: tf.Tensor, gradients: Gradients
    ) -> tf.Tensor:
        """Makes the update, unless it is not finite, and returns its figures, float32 `[8]`."""
        if self._reduction == "float16":
            gradients = [tf.cast(sums, tf.float32) / _FLOAT16_SCALE for sums in gradients]
        gradient_norm = tf.linalg.global_norm(gradients)
        finite = tf.math.is_finite(losses[0] + gradient_norm)
        update = tf.convert_to_tensor(self.optimizer.iterations)
        scale = self._scale()
        rate = self.optimizer.apply_if(finite, gradients, self.gradients.variables)
        if self.loss_scale:
            self.loss_scale.update(finite)
        others = tf.stack([gradient_norm, tf.cast(finite, tf.float32), scale, rate])
        figures = tf.concat([losses, tokens, others], axis=0)
        self.figures.write(update, figures)
        return figures

    def _scale(self) -> tf.Tensor:
        return tf.convert_to_tensor(self.loss_scale.scale.value) if self.loss_scale else tf.ones(())


def _count_tokens(data: Batch) -> tf.Tensor:
    """Returns the real source and target tokens of a batch, float32 `[2]`."""
    real = [tf.cast(data[side] != PADDING_ID, tf.float32) for side in SIDES]
    return tf.stack([tf.reduce_sum(tokens) for tokens in real])


def _sum_over_replicas(values: list[tf.Tensor]) -> list[tf.Tensor]:
    """Sums each value over all replicas; values of one dtype share one collective operation."""
    replicas = tf.distribute.get_replica_context()
    if replicas.num_replicas_in_sync == 1:
        return values
    sums = list(values)
    for dtype in dict.fromkeys(value.dtype for value in values):
        places = [place for place, value in enumerate(values) if value.dtype == dtype]
        reduced = replicas.all_reduce(tf.distribute.ReduceOp.SUM, [values[i] for i in places])
        for place, value in zip(places, reduced, strict=True):
            sums[place] = value
    return sums
