"""Keras still has the hooks that we override or read, and calls those that we override."""

import collections
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.config import TrainingConfig
from trainer.data.input_pipeline import distribute
from trainer.training.keras_hooks import ModelHooks, never_allocating
from trainer.training.optimizer import Adam
from trainer.training.train_step import TrainingModel
from trainer.training.update_loop import UpdateLoop

# Our class, Keras's class, and the name that both define.
OVERRIDES = (
    (Adam, keras.optimizers.Adam, "build"),
    (Adam, keras.optimizers.Adam, "apply"),
    (Adam, keras.optimizers.Adam, "finalize_variable_values"),
    (ModelHooks, keras.Model, "make_train_function"),
    (ModelHooks, keras.Model, "_maybe_symbolic_build"),
)
BATCH = {"source": np.array([[4, 5, 1]], np.int32), "target": np.array([[9, 1]], np.int32)}


@pytest.mark.parametrize(("ours", "theirs", "name"), OVERRIDES)
def test_keras_has_the_hook(ours: type, theirs: type, name: str) -> None:
    assert name in vars(ours)
    assert callable(getattr(theirs, name, None)), f"{theirs.__name__} has no {name} any more"


def test_keras_keeps_the_state_that_is_read() -> None:
    variables = [keras.Variable(np.full(size, size, np.float32)) for size in (2, 3)]
    optimizer = keras.optimizers.Adam(use_ema=True)
    optimizer.build(variables)
    for state in ("_momentums", "_velocities", "_model_variables_moving_average"):
        assert [slot.shape for slot in getattr(optimizer, state)] == [(2,), (3,)], state


def test_variables_to_be_counted_are_not_allocated_by_a_later_scope() -> None:
    allocated = []

    def initialize(shape: tuple[int, ...], dtype: str) -> Any:
        allocated.append(shape)
        return np.zeros(shape, dtype)

    with never_allocating():
        counted = keras.Variable(initialize, shape=(2, 3), dtype="float32")
    assert counted.shape == (2, 3)
    with keras.StatelessScope():
        keras.Variable(initialize, shape=(5,), dtype="float32")
    assert allocated == [(5,)]


def test_no_other_class_overrides_a_private_part_of_keras() -> None:
    for ours, theirs in (
        (Adam, keras.optimizers.Adam),
        (TrainingModel, keras.Model),
        (UpdateLoop, keras.Model),
    ):
        private = [name for name in vars(ours) if name.startswith("_") and name[1] != "_"]
        # Registries that every class statement fills in.
        inherited = {name for name in private if hasattr(theirs, name)} - {"_abc_impl"}
        assert not inherited, f"move {inherited} to keras_hooks.py"


def test_fit_calls_every_override(
    make_training_model: Callable[..., TrainingModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: collections.Counter[str] = collections.Counter()

    def record(owner: type, name: str) -> None:
        method = getattr(owner, name)

        def recording(self: Any, *arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return method(self, *arguments, **options)

        monkeypatch.setattr(owner, name, recording)

    for ours, _, name in OVERRIDES:
        record(ours, name)
    record(UpdateLoop, "train_on_next")
    training_model = make_training_model(ema_decay=0.5)
    batches = tf.data.Dataset.from_tensors(BATCH).repeat()
    training_model.fit(
        distribute(batches, tf.distribute.get_strategy()),
        steps_per_epoch=2,
        shuffle=False,
        verbose=0,
    )
    # The train step calls `apply_if`; `apply` is for other callers.
    assert calls.keys() == {name for _, _, name in OVERRIDES} - {"apply"} | {"train_on_next"}
    assert calls["train_on_next"] == 2


def test_moments_are_the_running_means_of_gradient_and_square() -> None:
    """After one update from zero: m = (1 - β₁) g and v = (1 - β₂) g²."""
    optimizer = Adam(TrainingConfig(adam_beta_1=0.8, adam_beta_2=0.9))
    variables = [keras.Variable(np.ones(size, np.float32)) for size in (2, 3)]
    optimizer.build(variables)
    optimizer.apply([tf.fill([2], 3.0), tf.fill([3], 5.0)], variables)
    for variable, gradient, (mean, square) in zip(
        variables, (3.0, 5.0), optimizer.moments, strict=True
    ):
        np.testing.assert_allclose(mean, 0.2 * gradient * np.ones(variable.shape), rtol=1e-6)
        np.testing.assert_allclose(square, 0.1 * gradient**2 * np.ones(variable.shape), rtol=1e-6)
