"""Gradients of the whole model and objective against finite differences of an independent one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from model.transformer import Transformer
from tests.helpers import numpy_reference
from tests.helpers.small_models import (
    SOURCE,
    TARGET,
    TENSOR2TENSOR,
    VOCABULARY,
    fill_with_waves,
    small_config,
)
from trainer.training.loss import cross_entropy

SMOOTHING, NUDGE = 0.2, 1e-6
Weights = dict[str, np.ndarray]


@pytest.mark.parametrize("changes", [{}, TENSOR2TENSOR], ids=["paper", "tensor2tensor"])
def test_gradients_are_finite_differences_of_the_equations(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Transformer(small_config(**changes), VOCABULARY)
    fill_with_waves(model)
    variables = model.trainable_variables
    weights = {variable.path: variable.numpy().astype(np.float64) for variable in variables}
    monkeypatch.setattr(numpy_reference, "weight", lambda variable: weights[variable.path])
    random = np.random.default_rng(1)
    for variable, gradient in zip(model.trainable_variables, gradients_of(model), strict=True):
        direction = random.normal(size=gradient.shape)
        slope = slope_along(lambda: loss_by_equations(model), weights, variable.path, direction)
        tolerance = 1e-6 * float(np.linalg.norm(direction))
        assert np.sum(gradient * direction) == pytest.approx(slope, abs=tolerance), variable.path
        assert abs(slope) > 10 * tolerance, f"{variable.path} has no influence"


def gradients_of(model: Transformer) -> list[np.ndarray]:
    with tf.GradientTape() as tape:
        states = model.decode(SOURCE, TARGET, training=True)
        matrix = model.embedding.matrix
        loss, _ = cross_entropy(states, matrix, tf.constant(TARGET), label_smoothing=SMOOTHING)
    variables = [variable.value for variable in model.trainable_variables]
    return [tf.convert_to_tensor(gradient).numpy() for gradient in tape.gradient(loss, variables)]


def slope_along(
    loss: Callable[[], float], weights: Weights, path: str, direction: np.ndarray
) -> float:
    """Derivative of the loss when the weights at `path` move in a direction."""
    here = weights[path]
    losses = []
    for nudge in (NUDGE, -NUDGE):
        weights[path] = here + nudge * direction
        losses.append(loss())
    weights[path] = here
    return (losses[0] - losses[1]) / (2 * NUDGE)


def loss_by_equations(model: Transformer) -> float:
    """The smoothed cross-entropy of the real target tokens, in float64, sentence by sentence."""
    total = 0.0
    for source, target in zip(SOURCE, TARGET, strict=True):
        labels = target[target != 0]
        logits = numpy_reference.transform(model, source[source != 0].tolist(), labels.tolist())
        log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        distribution = np.full(logits.shape, SMOOTHING / (VOCABULARY - 1))
        distribution[np.arange(len(labels)), labels] = 1 - SMOOTHING
        total -= float(np.sum(distribution * log_probabilities))
    return total
