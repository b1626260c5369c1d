"""The formula counts the products of the graph that TensorFlow makes of the model."""

import dataclasses
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import pytest
import tensorflow as tf

from model.config import TransformerConfig
from model.transformer import Transformer
from trainer.training.flops import forward_flops, measure_peak, time_products, update_flops

VOCABULARY = 31
ROWS, SOURCE, TARGET = 3, 12, 9  # more than the few rows of search, whose products are others
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


@pytest.fixture(scope="module", params=[{}, {"encoder_layers": 3, "decoder_layers": 1}])
def transformer(request: pytest.FixtureRequest) -> Transformer:
    return Transformer(dataclasses.replace(CONFIG, **request.param), VOCABULARY)


def test_forward_flops_are_those_of_the_graph(transformer: Transformer) -> None:
    counted = count_products(lambda source, target: transformer(source, target))
    assert forward_flops(transformer.config, VOCABULARY, (ROWS, SOURCE, TARGET)) == counted


def test_training_flops_are_those_of_the_graph(transformer: Transformer) -> None:
    def differentiate(source: tf.Tensor, target: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(transformer(source, target, training=True) ** 2)
        gradients = tape.gradient(loss, transformer.trainable_variables)
        return [tf.convert_to_tensor(gradient) for gradient in gradients]

    counted = count_products(differentiate)
    assert update_flops(transformer.config, VOCABULARY, (ROWS, SOURCE, TARGET)) == counted


def test_peak_is_the_best_of_products_that_keep_the_device_busy() -> None:
    """Here products of 1024 rows take 80 or 90 ms, and smaller ones are quick but inefficient."""
    sizes: list[int] = []

    def pretend(threads: Executor, count: int, size: int, dtype: str) -> float:
        assert (count, dtype) == (3, "bfloat16")
        sizes.append(size)
        return 0.08 + 0.01 * (len(sizes) % 2) if size == 1024 else 0.02

    assert measure_peak("bfloat16", cores=3, time_products=pretend) == 3 * 2 * 1024**3 / 0.08
    assert sizes[:4] == [256, 256, 512, 1024]
    assert set(sizes[4:]) == {1024} and len(sizes) < 12


def test_a_gpu_has_one_product_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def pretend(threads: Executor, count: int, size: int, dtype: str) -> float:
        assert count == 1
        return 0.5

    monkeypatch.setattr(tf.config, "list_logical_devices", lambda _: ["a device"])
    assert measure_peak("float32", cores=3, time_products=pretend) == 2 * 256**3 / 0.5


def test_products_take_time() -> None:
    with ThreadPoolExecutor(2) as threads:
        assert time_products(threads, 2, 8, "float32") > 0
