"""What Table 1 is measured with is what it says."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from model.attention import MultiHeadAttention
from model.config import TransformerConfig
from model.masks import window_mask
from tests.benchmarks import layer_tables, layer_types, tables
from tests.benchmarks.layer_types import LAYER_TYPES, fit_exponent, longest_path, peak_bytes
from tests.benchmarks.window_attention import attend_within_window

REACHES = {"self-attention": 10**6, "self-attention, restricted": 32, "convolutional": 1}


@pytest.mark.parametrize("length", [1, 4, 7, 30])
@pytest.mark.parametrize("size", [3, 5, 9])
def test_window_attention_is_that_of_the_mask(length: int, size: int) -> None:
    keras.utils.set_random_seed(1)
    layer = MultiHeadAttention(TransformerConfig(model_dim=12, num_heads=2), "attention")
    layer.build()
    x = np.random.default_rng(length).normal(size=(1, length, 12)).astype("float32")
    expected = layer(x, x, attention_mask=window_mask(length, size))
    signature = [tf.TensorSpec((1, None, 12))]
    attend = tf.function(
        lambda x: attend_within_window(layer, x, size), input_signature=signature, autograph=False
    )
    received = attend(x)
    np.testing.assert_allclose(received, ops.convert_to_numpy(expected), atol=1e-5)


@pytest.mark.parametrize("name", REACHES)
@pytest.mark.parametrize("length", [2, 33, 34, 100])
def test_the_longest_path_is_that_of_reachability(name: str, length: int) -> None:
    positions = np.arange(length)
    near = np.abs(positions[:, None] - positions) <= REACHES[name]
    reached, layers = near, 1
    while not reached.all():
        reached, layers = reached @ near, layers + 1
    assert longest_path(name, length) == layers
    assert longest_path("recurrent", length) == length


@pytest.mark.parametrize(
    ("name", "length"), [("self-attention", 24), ("convolutional", 24), ("recurrent", 1)]
)
def test_operations_are_those_of_the_graph(name: str, length: int) -> None:
    layer: Any = layer_types.make_layers()[name]
    shape = (1, length, layer_types.MODEL_DIM)
    graph = (
        tf.function(layer.python_function, autograph=False)
        .get_concrete_function(tf.TensorSpec(shape))
        .graph
    )
    assert count_operations(graph) == LAYER_TYPES[name].operations(length)


def count_operations(graph: tf.Graph) -> float:
    """Adds up products and convolutions, of the graph or of the body of its loop.

    Before its loop, Keras makes a step whose result nothing uses.
    """
    return max(map(_count, _graphs(graph).values()))


def _graphs(graph: tf.Graph, name: str = "") -> dict[str, tf.Graph]:
    """Returns a graph and those of its functions, at any depth, by name."""
    graphs = {name: graph}
    for inner, function in graph._functions.items():
        graphs |= _graphs(function.graph, inner)
    return graphs


def _count(graph: tf.Graph) -> float:
    total = 0.0
    for operation in graph.get_operations():
        if operation.type in ("MatMul", "BatchMatMulV2"):
            transpose = operation.get_attr("transpose_a" if operation.type == "MatMul" else "adj_x")
            inner = operation.inputs[0].shape[-2 if transpose else -1]
        elif operation.type == "Conv2D":
            inner = operation.inputs[1].shape[:-1].num_elements()
        else:
            continue
        total += 2.0 * operation.outputs[0].shape.num_elements() * inner
    return total


def test_an_exponent_is_the_slope_of_logarithms() -> None:
    assert fit_exponent({"16": 9.0, "512": 8.0, "1024": 32.0, "2048": 128.0}) == pytest.approx(2)
    assert fit_exponent({"16": 9.0, "512": 8.0}) is None


def test_memory_at_its_peak_is_seen() -> None:
    size = 64 * 2**20
    assert peak_bytes(lambda: bytearray(size)) == pytest.approx(size, rel=0.1)


def test_self_attention_is_slower_from_the_length_after_which_it_stays_so() -> None:
    ours = {"16": 1.0, "32": 3.0, "64": 2.0, "128": 9.0}
    assert layer_tables._first_longer(ours, dict.fromkeys(ours, 2.5)) == "128"
    assert layer_tables._first_longer({"16": 1.0}, {"16": 2.0}) == "not up to 4,096"


@pytest.mark.parametrize("path", tables.FILES, ids=lambda path: path.name)
def test_a_drawing_is_made_from_the_committed_results(path: Path) -> None:
    drawing = tables.FILES[path]()
    written = path.read_text("utf-8") if drawing else ""
    assert written == drawing, "run `python -m tests.benchmarks.tables`"
