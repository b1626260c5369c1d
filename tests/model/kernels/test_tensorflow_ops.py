import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from model.kernels.tensorflow_ops import dropout, fill_rows, matmul


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_rows_of_zeros_are_filled(dtype: str) -> None:
    x = ops.cast(ops.array([[1, 2], [0, 0], [3, 4], [0, 0]]), dtype)
    filled = fill_rows(x, ops.array([[3], [1]]), ops.cast(ops.array([[5, 6], [7, 8]]), dtype))
    np.testing.assert_array_equal(
        ops.convert_to_numpy(ops.cast(filled, "float32")), [[1, 2], [7, 8], [3, 4], [5, 6]]
    )
    assert ops.convert_to_numpy(ops.cast(x, "float32"))[3, 0] == 0  # which is still needed


def test_a_loop_neither_copies_nor_loses_what_else_reads_it() -> None:
    rows, size, steps = 64, 1 << 16, 8

    @tf.function(autograph=False)
    def fill(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def body(step: tf.Tensor, x: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, ...]:
            x = fill_rows(x, step[None, None], tf.fill((1, size), total + 1.0))
            return step + 1, x, total + x[step, 0]

        _, x, total = tf.while_loop(lambda step, *_: step < steps, body, (0, x, 0.0))
        return x, total

    start = tf.zeros((rows, size))
    x, total = fill(start)
    np.testing.assert_array_equal(x[:9, 0], [1, 2, 4, 8, 16, 32, 64, 128, 0])
    assert total == 255 and tf.reduce_sum(start) == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("rows", [1, 3, 12])
def test_matmul_is_that_of_keras(rows: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (
        ops.cast(ops.convert_to_tensor(rng.normal(size=shape)), dtype)
        for shape in ((2, 4, rows, 8), (2, 1, 8, 5))
    )
    expected = ops.convert_to_numpy(ops.cast(ops.matmul(x, y), "float32"))
    transposed = ops.swapaxes(y, -1, -2)
    for product in (matmul(x, y), matmul(x, transposed, transpose_y=True)):
        assert product.dtype == x.dtype
        np.testing.assert_allclose(
            ops.convert_to_numpy(ops.cast(product, "float32")), expected, atol=1e-6
        )


@pytest.mark.parametrize("rows", [1, 3, 12, None])
def test_shapes_of_matmul_are_known_in_a_graph_as_those_of_keras(rows: int | None) -> None:
    x, y = tf.TensorSpec((None, 4, rows, 8)), tf.TensorSpec((None, 4, 8, None))
    graph = tf.function(matmul).get_concrete_function(x, y)
    assert graph.output_shapes.as_list() == [None, 4, rows, None]


def test_few_rows_are_multiplied_one_by_one_by_tensorflows_own_kernel() -> None:
    def operations(rows: int | None) -> set[str]:
        x, y = tf.TensorSpec((2, rows, 8)), tf.TensorSpec((2, 8, 5))
        graph = tf.function(matmul).get_concrete_function(x, y).graph
        return {operation.type for operation in graph.get_operations()}

    assert "ExpandDims" not in operations(rows=1)
    for few in (1, 4, 8):
        assert "BatchMatMulV3" in operations(few)
    for many in (9, None):
        assert "BatchMatMulV3" not in operations(many)


def test_a_gpu_multiplies_all_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: ["/gpu:0"])
    x, y = tf.TensorSpec((2, 4, 8)), tf.TensorSpec((2, 8, 5))
    graph = tf.function(matmul).get_concrete_function(x, y).graph
    assert "BatchMatMulV3" not in {operation.type for operation in graph.get_operations()}


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.999999])
def test_dropout_drops_its_share_and_keeps_the_expected_sum(rate: float) -> None:
    x = tf.ones((401, 7, 331))
    dropped = dropout(x, rate, keras.random.SeedGenerator(1)).numpy()
    share = round(rate * 2**16) / 2**16 if rate < 0.9 else 1 - 2**-16
    np.testing.assert_allclose(dropped[dropped > 0], 1 / (1 - share), rtol=1e-6)
    deviation = np.sqrt(share * (1 - share) / dropped.size)
    assert abs((dropped == 0).mean() - share) < 5 * deviation


def test_dropout_decides_about_neighbours_rows_and_calls_apart() -> None:
    seed_generator = keras.random.SeedGenerator(1)
    kept = [dropout(tf.ones((512, 512)), 0.5, seed_generator).numpy() > 0 for _ in range(2)]
    pairs = [
        (kept[0], kept[1]),
        (kept[0][1:], kept[0][:-1]),
        (kept[0][:, 1::2], kept[0][:, ::2]),  # the halves of one random number
        (kept[0][:, 1:], kept[0][:, :-1]),
    ]
    for first, second in pairs:
        assert abs((first == second).mean() - 0.5) < 5 * 0.5 / np.sqrt(first.size)


def test_dropout_repeats_with_the_state_of_its_seed() -> None:
    x, seed_generator = tf.ones((3, 5)), keras.random.SeedGenerator(1)
    state = seed_generator.state.numpy()
    first = dropout(x, 0.5, seed_generator)
    assert (seed_generator.state.numpy() != state).any()
    seed_generator.state.assign(state)
    np.testing.assert_array_equal(dropout(x, 0.5, seed_generator), first)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_gradients_pass_dropout_where_values_do(dtype: str) -> None:
    x = tf.Variable(tf.ones((9, 11), dtype))
    with tf.GradientTape() as tape:
        dropped = dropout(x, 0.3, keras.random.SeedGenerator(1))
    gradient = tape.gradient(dropped, x)
    assert dropped.dtype == gradient.dtype == x.dtype
    np.testing.assert_array_equal(tf.cast(gradient, "float32"), tf.cast(dropped, "float32"))
