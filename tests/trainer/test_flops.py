"""The formula counts the products of the graph that TensorFlow makes of the model."""

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from model.config import TransformerConfig
from model.transformer import Transformer
from trainer import flops
from trainer.flops import forward_flops, measure_peak, training_flops

VOCABULARY = 31
ROWS, SOURCE, TARGET = 3, 7, 5
CONFIG = TransformerConfig(
    num_layers=2, model_dim=12, feed_forward_dim=20, num_heads=2, key_dim=3, value_dim=4
)


def count_products(function: Callable[..., Any]) -> float:
    """Adds up the operations of a graph's matrix products from their shapes."""
    specs = (tf.TensorSpec((ROWS, length), tf.int32) for length in (SOURCE, TARGET))
    graph = tf.function(function, autograph=False).get_concrete_function(*specs).graph
    total = 0.0
    for operation in graph.get_operations():
        if transpose := {"MatMul": "transpose_a", "BatchMatMulV2": "adj_x"}.get(operation.type):
            inner = operation.inputs[0].shape[-2 if operation.get_attr(transpose) else -1]
            total += 2.0 * operation.outputs[0].shape.num_elements() * inner
    return total


@pytest.fixture(scope="module")
def transformer() -> Transformer:
    return Transformer(CONFIG, VOCABULARY)


def test_forward_flops_are_those_of_the_graph(transformer: Transformer) -> None:
    counted = count_products(lambda source, target: transformer(source, target))
    assert forward_flops(CONFIG, VOCABULARY, (ROWS, SOURCE, TARGET)) == counted


def test_training_flops_are_those_of_the_graph(transformer: Transformer) -> None:
    def differentiate(source: tf.Tensor, target: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(transformer(source, target, training=True) ** 2)
        gradients = tape.gradient(loss, transformer.trainable_variables)
        return [tf.convert_to_tensor(gradient) for gradient in gradients]

    counted = count_products(differentiate)
    assert training_flops(CONFIG, VOCABULARY, (ROWS, SOURCE, TARGET)) == counted


def test_peak_is_the_best_of_products_that_keep_the_device_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = []

    def pretend(matrix: tf.Tensor) -> float:
        sizes.append(matrix.shape[0])
        return {1024: 0.01, 2048: 0.04 + 0.01 * (len(sizes) % 2)}[matrix.shape[0]]

    monkeypatch.setattr(flops, "_time_product", pretend)
    assert measure_peak("float32") == 2 * 2048**3 / 0.04
    assert set(sizes) == {1024, 2048}


def test_a_product_takes_time() -> None:
    assert flops._time_product(tf.ones((8, 8))) > 0
