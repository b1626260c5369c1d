"""Runs the model from stored weights on the Keras backend of this process.

KERAS_BACKEND=jax python -m tests.helpers.on_backend WEIGHTS.npz RESULTS.npz
"""

import sys
from typing import Any

import keras
import numpy as np
from keras import ops

from model.config import SearchConfig
from model.transformer import Transformer
from tests.helpers.small_models import (
    SOURCE,
    TARGET,
    TENSOR2TENSOR,
    VOCABULARY,
    fill_with_waves,
    numpy,
    small_config,
)

Arrays = dict[str, np.ndarray]

CHANGES: dict[str, dict[str, Any]] = {"paper": {}, "t2t": TENSOR2TENSOR}
SEARCHES = {
    "greedy": SearchConfig(beam_size=1, extra_length=5),
    "beam": SearchConfig(beam_size=4, extra_length=5),
}


def make_weights() -> Arrays:
    """Returns the weights of each variation, keyed by variation and path."""
    weights: Arrays = {}
    for name, changes in CHANGES.items():
        model = Transformer(small_config(**changes), VOCABULARY)
        fill_with_waves(model)
        weights |= {
            f"{name}/{variable.path}": numpy(variable) for variable in model.trainable_variables
        }
    return weights


def compute(weights: Arrays) -> Arrays:
    """Returns training logits, gradients and translations of each variation."""
    results: Arrays = {}
    for name, changes in CHANGES.items():
        model = Transformer(small_config(**changes), VOCABULARY)
        for variable in model.trainable_variables:
            variable.assign(weights[f"{name}/{variable.path}"])
        results[f"{name}/logits"] = numpy(model(SOURCE, TARGET, training=True))
        for variable, gradient in zip(model.trainable_variables, _gradients(model), strict=True):
            results[f"{name}/gradients/{variable.path}"] = numpy(gradient)
        for search, config in SEARCHES.items():
            translations = model.search(ops.convert_to_tensor(SOURCE, "int32"), config)
            results[f"{name}/{search}/tokens"] = numpy(translations.tokens)
            results[f"{name}/{search}/scores"] = numpy(translations.scores)
    return results


def _gradients(model: Transformer) -> list[Any]:
    """Gradients of the logits' mean square, by the backend's automatic differentiation."""
    if keras.backend.backend() == "jax":
        import jax

        def objective(values: list[Any]) -> Any:
            seeds = [seed.value for seed in model.non_trainable_variables]
            logits, _ = model.stateless_call(values, seeds, SOURCE, TARGET, training=True)
            return ops.mean(logits**2)

        return jax.grad(objective)([variable.value for variable in model.trainable_variables])
    import tensorflow as tf

    with tf.GradientTape() as tape:
        value = ops.mean(model(SOURCE, TARGET, training=True) ** 2)
    gradients = tape.gradient(value, [variable.value for variable in model.trainable_variables])
    return [tf.convert_to_tensor(gradient) for gradient in gradients]  # the embedding's is sparse


if __name__ == "__main__":
    with np.load(sys.argv[1]) as weights:
        np.savez(sys.argv[2], **compute(dict(weights)))  # type: ignore[arg-type]
