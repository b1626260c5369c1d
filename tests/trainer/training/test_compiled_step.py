"""With XLA the whole step is three compiled functions."""

import collections
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from trainer.training.loss import cross_entropy
from trainer.training.train_step import TrainingModel
from trainer.training.update_figures import UpdateFigures

FIGURES = len(UpdateFigures._fields)
MakeTrainingModel = Callable[..., TrainingModel]
IDS = {side: np.array([[4, 5, 1], [8, 1, 0]], np.int32) for side in ("source", "target")}


def operations_outside_xla(step: tf.types.experimental.ConcreteFunction) -> Iterator[str]:
    """Yields the type of each operation that XLA does not compile, in called functions too."""
    graph = step.graph.as_graph_def()
    functions = {function.signature.name: function for function in graph.library.function}

    def visit(nodes: object) -> Iterator[str]:
        for node in nodes:  # type: ignore[attr-defined]
            if node.op != "Placeholder":  # an argument
                yield node.op
            for attribute in node.attr.values():
                for called in [attribute.func, *attribute.list.func]:
                    function = functions.get(called.name)
                    if function is not None and not function.attr["_XlaMustCompile"].b:
                        yield from visit(function.node_def)

    yield from visit(graph.node)


def trace(training_model: TrainingModel) -> tf.types.experimental.ConcreteFunction:
    step = tf.function(training_model.train_step, autograph=False)
    signature = {side: tf.TensorSpec((None, None), tf.int32) for side in IDS}
    return step.get_concrete_function(signature)


def test_xla_compiles_the_whole_step(make_training_model: MakeTrainingModel) -> None:
    training_model = make_training_model(jit_compile=True, ema_decay=0.5)
    outside = list(operations_outside_xla(trace(training_model)))
    assert collections.Counter(outside) == {
        "PartitionedCall": 1,  # counts tokens
        "StatefulPartitionedCall": 2,  # computes gradients, updates
        "Unpack": 1,  # names the figures
        "Identity": FIGURES,
        "NoOp": 1,
    }


def test_without_xla_powers_are_computed_once_for_all_variables(
    make_training_model: MakeTrainingModel,
) -> None:
    training_model = make_training_model()
    outside = list(operations_outside_xla(trace(training_model)))
    variables = len(training_model.transformer.trainable_variables)
    assert outside.count("ResourceApplyAdam") == variables
    assert outside.count("Pow") == 2


@pytest.mark.heavy
def test_xla_skips_an_update_that_is_not_finite_to_the_bit(
    make_training_model: MakeTrainingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    factor = tf.Variable(1.0)

    def spoil(*arguments: Any, **options: Any) -> tuple[tf.Tensor, tf.Tensor]:
        loss, nll = cross_entropy(*arguments, **options)
        return loss * factor, nll

    monkeypatch.setattr("trainer.training.gradients.cross_entropy", spoil)
    training_model = make_training_model(jit_compile=True, ema_decay=0.5)
    training_model.train_step(IDS)
    before = state_of(training_model)
    factor.assign(float("nan"))
    figures = training_model.train_step(IDS)
    assert float(figures["finite"]) == 0.0
    assert int(training_model.optimizer.iterations) == 2
    assert state_of(training_model) == before
    factor.assign(1.0)
    training_model.train_step(IDS)
    changed = state_of(training_model)
    assert not [name for name in before if changed[name] == before[name] and "rate" not in name]


def state_of(training_model: TrainingModel) -> dict[str, bytes]:
    variables = [
        *training_model.transformer.trainable_variables,
        *training_model.optimizer.variables,
    ]
    return {v.path: v.numpy().tobytes() for v in variables if "iteration" not in v.path}
