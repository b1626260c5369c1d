"""The train step that `Model.fit` runs: forward pass, loss, gradients, update (§5)."""

import time
from collections.abc import Callable

import tensorflow as tf

from model.transformer import Transformer
from pipeline.dataset.schema import PADDING_ID
from trainer.data.input_pipeline import Batch
from trainer.training.keras_hooks import ModelHooks
from trainer.training.loss import cross_entropy
from trainer.training.loss_scale import LossScale

Gradients = list[tf.Tensor]
Logs = dict[str, tf.Tensor]
BatchShape = tuple[int, int, int]


class TrainingModel(ModelHooks):
    """A Transformer with its loss and optimizer; N replicas make the update of one.

    The loss is the sum over all target tokens of the global batch divided by their number. So it
    depends neither on how padding is distributed over replicas nor on the number of parts in which
    each computes its gradients. (The mean of the replicas' means, the default of most frameworks,
    is another objective.)

    An update whose loss or gradients are not finite is counted, but changes no weight. Under
    mixed float16 the loss is scaled (`LossScale`).

    A step logs, for the global batch: `loss` (smoothed) and `nll` (plain), both nats per target
    token; `source_tokens` and `target_tokens`, without padding; `gradient_norm`, over all weights;
    `finite`, 1 or 0; and `loss_scale`, 1 except under float16.

    Args:
        transformer: the model to train, made under the same strategy.
        label_smoothing: probability of all wrong subwords together (§5.4).
        gradient_accumulation: equal parts of a replica's batch that are computed sequentially, to
            save memory.
        parts_at_once: equal parts of each of these that are computed in parallel: processor cores
            that share operations wait for one another, and cores with a part each do not.
        compile_gradients: whether XLA compiles the forward and backward pass.

    Attributes:
        batch_shape: rows, source length and target length of the latest global batch.
        waiting_since: when the wait for a batch began (`time.monotonic`), or None if not waiting.
    """

    def __init__(
        self,
        transformer: Transformer,
        *,
        label_smoothing: float,
        gradient_accumulation: int = 1,
        parts_at_once: int = 1,
        compile_gradients: bool = False,
    ) -> None:
        super().__init__(name="training_model")
        self.transformer = transformer
        self.label_smoothing = label_smoothing
        self.parts = gradient_accumulation * parts_at_once
        self.parts_at_once = parts_at_once
        self.loss_scale = LossScale() if transformer.compute_dtype == "float16" else None
        self.batch_shape: BatchShape = (0, 0, 0)
        self.waiting_since: float | None = None
        self._compile_gradients = compile_gradients
        self._shapes: set[BatchShape] = set()
        self._traces = 0
        self._update: Callable[[Batch], Logs] | None = None
        # AutoGraph reads source files at every trace: editing them would break a long run.
        self._gradients_of = tf.function(
            self._compute_gradients, jit_compile=compile_gradients, autograph=False
        )
        self.built = True

    @property
    def programs(self) -> int:
        """Number of programs traced or compiled: one for all shapes, or with XLA one per bucket."""
        return len(self._shapes) if self._compile_gradients else self._traces

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

    def train_on_next(self, iterator: tf.distribute.DistributedIterator) -> Logs:
        """Makes one update from the iterator's next global batch, on all replicas."""
        if self._update is None:
            signature = [iterator.element_spec]
            self._update = tf.function(
                self._update_replicas, autograph=False, input_signature=signature
            )
        return self._update(self._next_batch(iterator))

    def _update_replicas(self, batch: Batch) -> Logs:
        self._traces += 1
        strategy = self.distribute_strategy
        logs = strategy.run(self.train_step, args=(batch,))
        return {name: strategy.experimental_local_results(logs[name])[0] for name in logs}

    def train_step(self, data: Batch) -> Logs:
        """Makes one update from this replica's slice, int32 `[B, length]`, of a global batch."""
        replicas = tf.distribute.get_replica_context()
        local_tokens = tf.stack([_count_tokens(data["source"]), _count_tokens(data["target"])])
        tokens = replicas.all_reduce(tf.distribute.ReduceOp.SUM, local_tokens)
        local = self._gradients_of(data, tokens[1])
        losses, gradients = replicas.all_reduce(tf.distribute.ReduceOp.SUM, local)
        gradient_norm = tf.linalg.global_norm(gradients)
        finite = tf.math.is_finite(losses[0] + gradient_norm)
        logs = {
            "loss": losses[0],
            "nll": losses[1],
            "source_tokens": tokens[0],
            "target_tokens": tokens[1],
            "gradient_norm": gradient_norm,
            "finite": tf.cast(finite, tf.float32),
            "loss_scale": self._scale(),
        }
        replicas.merge_call(self._update_if, args=(finite, gradients))
        return logs

    def _update_if(
        self, strategy: tf.distribute.Strategy, finite: tf.Tensor, gradients: Gradients
    ) -> None:
        """Updates all replicas or none; runs in cross-replica context, for a single condition."""
        finite = strategy.experimental_local_results(finite)[0]
        variables = self.transformer.trainable_variables

        def update() -> None:
            strategy.run(lambda local: self.optimizer.apply(local, variables), args=(gradients,))

        def skip() -> None:
            self.optimizer.iterations.assign_add(1)

        tf.cond(finite, update, skip)
        if self.loss_scale:
            self.loss_scale.update(finite)

    def _compute_gradients(
        self, data: Batch, target_tokens: tf.Tensor
    ) -> tuple[tf.Tensor, Gradients]:
        """Returns this replica's share of `[loss, nll]` and of the gradients."""
        if self.parts == 1:
            losses, gradients = self._differentiate(data, target_tokens)
        else:
            losses, gradients = self._accumulate(data, target_tokens)
        if self.loss_scale:
            gradients = [gradient / self._scale() for gradient in gradients]
        return losses, gradients

    def _accumulate(self, data: Batch, target_tokens: tf.Tensor) -> tuple[tf.Tensor, Gradients]:
        """Accumulates `_differentiate` over parts, with activations of `parts_at_once` parts."""
        parts = {name: self._divide(ids) for name, ids in data.items()}

        def add_part(part: tf.Tensor, losses: tf.Tensor, gradients: Gradients) -> list[object]:
            batch = {side: ids[part] for side, ids in parts.items()}
            of_part = self._differentiate(batch, target_tokens)
            return [part + 1, *tf.nest.map_structure(tf.add, (losses, gradients), of_part)]

        variables = self.transformer.trainable_variables
        zeros = [tf.zeros(variable.shape, tf.float32) for variable in variables]
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

    def _differentiate(self, data: Batch, target_tokens: tf.Tensor) -> tuple[tf.Tensor, Gradients]:
        with tf.GradientTape() as tape:
            states = self.transformer.decode(data["source"], data["target"], training=True)
            loss, nll = cross_entropy(
                states,
                self.transformer.embedding.matrix,
                data["target"],
                label_smoothing=self.label_smoothing,
            )
            loss = loss / target_tokens
            scaled = loss * self._scale() if self.loss_scale else loss
        gradients = tape.gradient(scaled, self.transformer.trainable_variables)
        return tf.stack([loss, nll / target_tokens]), [tf.convert_to_tensor(g) for g in gradients]

    def _scale(self) -> tf.Tensor:
        return tf.convert_to_tensor(self.loss_scale.scale.value) if self.loss_scale else tf.ones(())

    def _next_batch(self, iterator: tf.distribute.DistributedIterator) -> Batch:
        self.waiting_since = time.monotonic()
        batch = next(iterator)
        self.waiting_since = None
        source, target = (
            self.distribute_strategy.experimental_local_results(batch[side])[0].shape
            for side in ("source", "target")
        )
        replicas = self.distribute_strategy.num_replicas_in_sync
        self.batch_shape = (source[0] * replicas, source[1], target[1])
        self._shapes.add(self.batch_shape)
        return batch


def _count_tokens(ids: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.cast(ids != PADDING_ID, tf.float32))
