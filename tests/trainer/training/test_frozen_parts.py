"""Frozen parts keep their bits and have no optimizer state; the others are trained as ever."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.config import TransformerConfig
from trainer.training.averaging import make_candidates
from trainer.training.train_step import TrainingModel

MakeTrainingModel = Callable[..., TrainingModel]
BATCH = {
    "source": np.array([[4, 5, 6, 7, 1], [8, 9, 1, 0, 0], [5, 6, 1, 0, 0], [7, 1, 0, 0, 0]]),
    "target": np.array([[9, 8, 7, 6, 1], [5, 4, 3, 1, 0], [6, 1, 0, 0, 0], [1, 0, 0, 0, 0]]),
}
FROZEN: dict[str, Any] = {"init_from": "another run", "freeze": ("embedding", "encoder")}


def batch() -> dict[str, tf.Tensor]:
    return {side: tf.constant(ids, tf.int32) for side, ids in BATCH.items()}


def weights_of(training_model: TrainingModel) -> dict[str, np.ndarray]:
    variables = training_model.transformer.trainable_variables
    return {variable.path: variable.numpy() for variable in variables}


def assert_only_the_decoder_changed(
    training_model: TrainingModel, before: dict[str, np.ndarray]
) -> None:
    after = weights_of(training_model)
    changed = {name for name in before if (before[name] != after[name]).any()}
    assert changed == {name for name in before if name.startswith("transformer/decoder/")}


@pytest.fixture(params=["float32", "mixed_bfloat16", "mixed_float16"])
def precision(request: pytest.FixtureRequest) -> Iterator[str]:
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy("float32")


def test_only_the_other_parts_are_trained(
    make_training_model: MakeTrainingModel, precision: str
) -> None:
    training_model = make_training_model(gradient_accumulation=2, **FROZEN)
    training_model.optimizer.learning_rate = 0.01
    before = weights_of(training_model)
    for _ in range(2):
        assert float(training_model.train_step(batch())["finite"]) == 1.0
    assert_only_the_decoder_changed(training_model, before)


def test_replicas_train_only_the_other_parts(
    make_training_model: MakeTrainingModel, eight_cpus: list[str]
) -> None:
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        training_model = make_training_model(**FROZEN)
        training_model.optimizer.learning_rate = 0.01
    before = weights_of(training_model)
    strategy.run(tf.function(training_model.train_step), args=(batch(),))
    assert_only_the_decoder_changed(training_model, before)


def test_frozen_parts_have_no_optimizer_state(make_training_model: MakeTrainingModel) -> None:
    frozen, whole = make_training_model(ema_decay=0.9, **FROZEN), make_training_model(ema_decay=0.9)
    kept = [variable.path for variable in frozen.optimizer.variables]
    assert not any("encoder" in path or "embedding" in path for path in kept)
    of_decoder = [v.path for v in whole.optimizer.variables if "decoder" in v.path]
    assert [path for path in kept if "decoder" in path] == of_decoder


def test_the_other_parts_have_the_gradients_that_they_would_have_anyway(
    make_training_model: MakeTrainingModel, tiny_transformer: TransformerConfig
) -> None:
    without_dropout = dataclasses.replace(tiny_transformer, dropout=0.0)
    frozen, whole = (make_training_model(without_dropout, **more) for more in (FROZEN, {}))
    for variable, weight in zip(
        frozen.transformer.trainable_variables, weights_of(whole).values(), strict=True
    ):
        variable.assign(weight)
    tokens = tf.constant(12.0)
    computed = frozen.gradients.compute(batch(), tokens)[1]
    by_path = {
        variable.path: gradient
        for variable, gradient in zip(
            whole.gradients.variables, whole.gradients.compute(batch(), tokens)[1], strict=True
        )
    }
    for variable, gradient in zip(frozen.gradients.variables, computed, strict=True):
        np.testing.assert_allclose(gradient, by_path[variable.path], rtol=1e-5, atol=1e-7)


def test_the_moving_average_of_a_frozen_part_is_the_part(
    make_run: Callable[..., Any], make_training_model: MakeTrainingModel
) -> None:
    settings = {"average": "ema", "ema_decay": 0.9, **FROZEN}
    training_model = make_training_model(**settings)
    training_model.optimizer.learning_rate = 0.01
    training_model.train_step(batch())
    (candidate,) = make_candidates(make_run(**settings), training_model)
    after = weights_of(training_model)
    assert candidate.weights.keys() == after.keys()
    for name, weight in after.items():
        is_equal = (candidate.weights[name] == weight).all()
        assert is_equal == (not name.startswith("transformer/decoder/")), name
