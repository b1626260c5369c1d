"""The loop between `Model.fit` and the train step: several updates per call, figures read late.

The host should never wait for a device between updates. So a call of the compiled function makes as
many updates as fit before the next step at which something happens (`call_plan`), fetches their
batches itself, and leaves their figures on the device until somebody needs them.
"""

import contextlib
import itertools
import time
import uuid
from collections.abc import Callable, Iterator

import keras
import tensorflow as tf

from trainer.data.input_pipeline import Batch
from trainer.training.call_plan import Call
from trainer.training.keras_hooks import ModelHooks
from trainer.training.update_figures import FigureTable, UpdateFigures

Observer = Callable[[int, UpdateFigures], None]


class UpdateLoop(ModelHooks):
    """A model whose `fit` makes updates on all replicas, by `train_step`.

    Args:
        figures_kept: most updates between readings of their figures.
        name: of the model.

    Attributes:
        calls: the calls of the compiled function, in order; `plan_calls` makes them for a run.
        figures: what `train_step` writes each update's figures to.
        observers: called with the number, counted from 1, and the figures of each update, in order,
            when they are read. `fit` begins without any.
        step: updates made so far, in this and earlier sessions.
        traces: how often the compiled function was traced: once, for all shapes.
        update_seconds: time of updates so far, without what happens between them, seconds.
    """

    def __init__(self, *, figures_kept: int, name: str) -> None:
        super().__init__(name=name)
        self.calls: Iterator[Call] = itertools.repeat(Call(1, at_event=False))
        self.figures = FigureTable(figures_kept)
        self.observers: list[Observer] = []
        self.step = self._steps_read = 0
        self.traces = 0
        self.update_seconds = 0.0
        self._input_clock = _InputClock()
        # AutoGraph reads source files at every trace: editing them would break a long run.
        self._make_updates = tf.function(self._loop, autograph=False)
        self.built = True

    @property
    def waiting_since(self) -> float | None:
        """When the wait for a batch was first seen (`time.monotonic`); None if not waiting."""
        return self._input_clock.waiting_since

    def make_train_function(self, force: bool = False) -> None:
        """Has `fit` call `train_on_next`, from the optimizer's count of updates on."""
        super().make_train_function(force)
        self.step = self._steps_read = int(keras.ops.convert_to_numpy(self.optimizer.iterations))
        self.observers = []

    def train_on_next(self, iterator: tf.distribute.DistributedIterator) -> dict[str, tf.Tensor]:
        """Makes the updates of one call, on the iterator's next global batches.

        Returns:
            Nothing: `fit` would wait for the device to convert what is in it.
        """
        updates, at_event = next(self.calls)
        if self.step + updates - self._steps_read > self.figures.rows:
            self.read_figures()
        with self._timed():
            self._make_updates(iterator, tf.constant(updates))
        self.step += updates
        if at_event:
            self.read_figures()
        return {}

    def read_figures(self) -> list[UpdateFigures]:
        """Waits for all updates made, and passes those not read yet to `observers`.

        Returns:
            Their figures.
        """
        first, self._steps_read = self._steps_read, self.step
        if first == self.step:
            return []
        with self._timed():
            figures = self.figures.read(first, self.step)
        for number, row in enumerate(figures, start=first + 1):
            for observe in self.observers:
                observe(number, row)
        return figures

    def _loop(self, iterator: tf.distribute.DistributedIterator, updates: tf.Tensor) -> None:
        self.traces += 1
        strategy = self.distribute_strategy

        def update(made: tf.Tensor) -> tf.Tensor:
            batch = self._input_clock.fetch(iterator, strategy)
            strategy.run(self.train_step, args=(batch,))
            return made + 1

        tf.while_loop(lambda made: made < updates, update, [0], parallel_iterations=1)

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.update_seconds += time.monotonic() - began


class _InputClock:
    """Fetches batches in a graph, and tells another thread since when one is waited for.

    The graph only counts, since deterministic graphs may not read a clock: twice per batch, so the
    count is odd while one is waited for.
    """

    def __init__(self) -> None:
        with tf.device("CPU:0"):  # a `tf.Variable` would be one per replica
            self._count = tf.raw_ops.VarHandleOp(
                dtype=tf.int64, shape=(), shared_name=uuid.uuid4().hex
            )
        tf.raw_ops.AssignVariableOp(resource=self._count, value=tf.zeros((), tf.int64))
        self._seen = (0, 0.0)  # count, and when it was first seen

    @property
    def waiting_since(self) -> float | None:
        count = int(tf.raw_ops.ReadVariableOp(resource=self._count, dtype=tf.int64))
        if count != self._seen[0]:
            self._seen = count, time.monotonic()
        return self._seen[1] if count % 2 else None

    def fetch(
        self, iterator: tf.distribute.DistributedIterator, strategy: tf.distribute.Strategy
    ) -> Batch:
        """Returns the next global batch."""
        with tf.control_dependencies([self._advance()]):
            batch = next(iterator)
        arrived = [strategy.experimental_local_results(ids)[0] for ids in batch.values()]
        with tf.control_dependencies(arrived):
            self._advance()
        return batch

    def _advance(self) -> tf.Operation:
        return tf.raw_ops.AssignAddVariableOp(resource=self._count, value=tf.ones((), tf.int64))
