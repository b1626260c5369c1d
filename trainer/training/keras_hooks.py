"""Keras's private hooks: all that this project overrides or reads, gathered in one file.

Keras calls a hook by its name, so an override whose hook was renamed would silently not run. Hence
`requirements.txt` caps Keras at the tested minor release, and `test_keras_hooks.py` checks that
each of these exists in Keras and runs during `fit`:

- `Optimizer.apply` (public) is the entry point for an update. Keras's would sum gradients over
  replicas once more, compute β₁ᵗ and β₂ᵗ for each variable, and bring the replicas together twice
  for each, which XLA cannot compile.
- `Adam._momentums`, `_velocities`, `Optimizer._model_variables_moving_average` are read: the state
  of each variable, in the order of `build`.
- `Model.make_train_function` (public) sets `train_function`, which `fit` calls with an iterator.
  Keras's own makes the same number of updates at every call (`steps_per_execution`), and averages
  what the replicas report, which fails with several workers.
- `Model._maybe_symbolic_build` builds the model from the mean of the workers' batches, which makes
  no sense for ids. Our models are built before `fit`.
- The global attribute `uninitialized_variables` lists the variables that were created in a
  `StatelessScope`. The next scope to end allocates them all, whether or not anything uses them.
"""

import contextlib
from collections.abc import Iterator

import keras
import tensorflow as tf
from keras.src.backend.common import global_state

_UNINITIALIZED = "uninitialized_variables"


@contextlib.contextmanager
def never_allocating() -> Iterator[None]:
    """Creates variables that have a shape and no memory, for counting them."""
    waiting = [*(global_state.get_global_attribute(_UNINITIALIZED) or ())]
    try:
        with keras.StatelessScope(initialize_variables=False):
            yield
    finally:
        global_state.set_global_attribute(_UNINITIALIZED, waiting)


class AdamHooks(keras.optimizers.Adam):
    """Adam whose private state has public names; a subclass applies the gradients."""

    @property
    def moments(self) -> list[tuple[keras.Variable, keras.Variable]]:
        """Running means of each variable's gradient and of its square, m and v."""
        return list(zip(self._momentums, self._velocities, strict=True))

    @property
    def averages(self) -> list[keras.Variable]:
        """Moving averages in the order of the variables; none without `use_ema`."""
        return self._model_variables_moving_average if self.use_ema else []


class ModelHooks(keras.Model):
    """A built model whose `fit` calls `train_on_next`."""

    def train_on_next(self, iterator: tf.distribute.DistributedIterator) -> dict[str, tf.Tensor]:
        """Makes updates from the iterator's next batches and returns logs."""
        raise NotImplementedError

    def make_train_function(self, force: bool = False) -> None:
        """Has `fit` call `train_on_next`."""
        self.train_function = self.train_on_next

    def _maybe_symbolic_build(self, iterator: object = None, data_batch: object = None) -> None:
        """Does nothing: the model is built."""
