"""Keras's private hooks: all that this project overrides or reads, gathered in one file.

Keras calls a hook by its name, so an override whose hook was renamed would silently not run. Hence
`requirements.txt` caps Keras at the tested minor release, and `test_keras_hooks.py` checks that
each of these exists in Keras and runs during `fit`:

- `Optimizer._all_reduce_sum_gradients` would sum gradients over replicas. The train step has done
  so, to know whether the global update is finite: a second sum would multiply them. Hence
  `Model.compile` (public) refuses optimizers without this override under several replicas.
- `Optimizer._update_model_variables_moving_average` has a constant decay. Ours rises from 1/10, so
  that the average of a short run is not dominated by its initial weights.
- `Optimizer._get_variable_index`, `_momentums`, `_velocities`, `_model_variables_moving_average`
  are read: the state of a variable for TensorFlow's fused Adam, and the averages for checkpoints.
- `Model.make_train_function` (public) sets `train_function`, which `fit` calls with an iterator for
  each update. Keras's own fetches the batch inside its graph, where waiting for input cannot be
  measured, and averages what the replicas report, which fails with several workers.
- `Model._maybe_symbolic_build` builds the model from the mean of the workers' batches, which makes
  no sense for ids. Our models are built before `fit`.
"""

from typing import Any

import keras
import tensorflow as tf

GradientsAndVariables = list[tuple[tf.Tensor, tf.Variable]]


class SummedGradients:
    """Mixin of optimizers, to be named before Keras's class: gradients arrive summed."""

    def _all_reduce_sum_gradients(
        self, grads_and_vars: GradientsAndVariables
    ) -> GradientsAndVariables:
        return grads_and_vars


class AdamHooks(SummedGradients, keras.optimizers.Adam):
    """Adam whose private state and hooks have public names; gradients arrive summed."""

    def moments(self, variable: tf.Variable) -> tuple[keras.Variable, keras.Variable]:
        """Returns the running means of a variable's gradient and of its square, m and v."""
        index = self._get_variable_index(variable)
        return self._momentums[index], self._velocities[index]

    @property
    def averages(self) -> list[keras.Variable]:
        """Moving averages in the order of the variables; none without `use_ema`."""
        return self._model_variables_moving_average if self.use_ema else []

    def update_averages(self, variables: list[keras.Variable]) -> None:
        """Updates `averages` after an update of `variables`."""
        raise NotImplementedError

    def _update_model_variables_moving_average(self, variables: list[keras.Variable]) -> None:
        self.update_averages(variables)


class ModelHooks(keras.Model):
    """A built model whose `fit` calls `train_on_next` for each update."""

    def compile(self, optimizer: keras.Optimizer, **settings: Any) -> None:
        """Compiles as Keras does.

        Raises:
            ValueError: under several replicas, if the optimizer would sum the gradients again.
        """
        replicas = self.distribute_strategy.num_replicas_in_sync
        if replicas > 1 and not isinstance(optimizer, SummedGradients):
            name = type(optimizer).__name__
            raise ValueError(
                f"received the optimizer {name} for {replicas} replicas, which would multiply the "
                f"gradients by {replicas}: they are summed already; expected one that leaves them, "
                f"such as class Summed{name}(SummedGradients, {name}) with the mixin of {__name__}"
            )
        super().compile(optimizer=optimizer, **settings)

    def train_on_next(self, iterator: tf.distribute.DistributedIterator) -> dict[str, tf.Tensor]:
        """Makes one update from the iterator's next batch and returns its logs."""
        raise NotImplementedError

    def make_train_function(self, force: bool = False) -> None:
        """Has `fit` call `train_on_next`."""
        self.train_function = self.train_on_next

    def _maybe_symbolic_build(self, iterator: object = None, data_batch: object = None) -> None:
        """Does nothing: the model is built."""
