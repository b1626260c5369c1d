"""The training step that `Model.fit` runs: forward, objective, gradients, update (§5)."""

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
    """A Transformer with its loss and update; a step is the same on any number of replicas.

    The loss is the sum over all target tokens of the global batch divided by their number, so it
    does not matter how padding falls on the replicas, nor in how many parts each computes its
    gradients. (Averaging the replicas' means, as frameworks do by default, is another objective.)

    An update whose loss or gradients are not finite is counted, but changes no weight. Under
    mixed float16 the loss is scaled meanwhile.

    A step reports, for the global batch: `loss` (smoothed) and `nll` (plain), both nats per target
    token; `source_tokens` and `target_tokens`, padding not counted; `gradient_norm`, over all
    weights; `finite`, 1 or 0; and `loss_scale`, 1 but under float16.

    Args:
        transformer: the model to train, made under the same strategy.
        label_smoothing: probability of all wrong subwords together (§5.4).
        gradient_accumulation: equal parts of a replica's batch that are computed one after
            another, to save memory.
        parts_at_once: each of these is divided into as many again, which are computed side by side:
            processor cores that share operations wait for one another, and these do not.
        compile_gradients: whether XLA compiles the forward and backward pass.

    Attributes:
        batch_shape: rows, source length and target length of the newest global batch.
        waiting_since: when the wait for a batch began (`time.monotonic`); None while there is one.
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
        # AutoGraph would read source files whenever it traces: editing them would break a long run.
        self._gradients_of = tf.function(
            self._compute_gradients, jit_compile=compile_gradients, autograph=False
        )
        self.built = True

    @property
    def programs(self) -> int:
        """Programs made of the step so far: one for all shapes, or by XLA one for each bucket."""
        return len(self._shapes) if self._compile_gradients else self._traces

    def offset_dropout_seeds(self) -> None:
        """Lets each replica drop other units; to be called once, after restoring a checkpoint.

        A checkpoint holds the random state of the first replica, from which the others' follow.
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
        """Updates all replicas, or none; outside of them, so that one condition holds for all."""
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
        """Returns `[loss, nll]` and the gradients, this replica's share of each."""
        if self.parts == 1:
            losses, gradients = self._differentiate(data, target_tokens)
        else:
            losses, gradients = self._accumulate(data, target_tokens)
        if self.loss_scale:
            gradients = [gradient / self._scale() for gradient in gradients]
        return losses, gradients

    def _accumulate(self, data: Batch, target_tokens: tf.Tensor) -> tuple[tf.Tensor, Gradients]:
        """As `_differentiate`, but in parts; the activations of `parts_at_once` are kept."""
        parts = {name: self._divide(ids) for name, ids in data.items()}

        def add_part(part: tf.Tensor, losses: tf.Tensor, gradients: Gradients) -> list[object]:
            more = self._differentiate({n: ids[part] for n, ids in parts.items()}, target_tokens)
            return [part + 1, *tf.nest.map_structure(tf.add, (losses, gradients), more)]

        nothing = [tf.zeros(v.shape, tf.float32) for v in self.transformer.trainable_variables]
        _, losses, gradients = tf.while_loop(
            lambda part, *_: part < self.parts,
            add_part,
            [0, tf.zeros(2), nothing],
            parallel_iterations=self.parts_at_once,
            maximum_iterations=self.parts,
        )
        return losses, gradients

    def _divide(self, ids: tf.Tensor) -> tf.Tensor:
        """Divides `[B, length]` into `[parts, B / parts, length]`, with rows of padding to fit."""
        rows, length = tf.unstack(tf.shape(ids))
        filled = tf.pad(ids, [[0, -rows % self.parts], [0, 0]])
        return tf.reshape(filled, (self.parts, -1, length))

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
