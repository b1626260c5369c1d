"""Floating-point operations: those of the model, by formula, and those the device achieves."""

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

import tensorflow as tf

from model.config import TransformerConfig
from trainer.runtime.startup import processor_cores

_SMALLEST, _LARGEST = 256, 8192  # rows of the matrices
_LONG_PRODUCT_SECONDS = 0.02  # per core; longer products do not improve the measurement
_MEASURED_SECONDS = 0.3

TimeProducts = Callable[[Executor, int, int, str], float]


def update_flops(
    config: TransformerConfig, vocabulary_size: int, batch_shape: tuple[int, int, int]
) -> float:
    """Counts the operations of one training update: three times those of `forward_flops`.

    For each product y = x W the backward pass has two of the same size, for the gradients of x and
    of W. Padding is counted, because the device multiplies it too.

    Args:
        config: the architecture.
        vocabulary_size: V.
        batch_shape: rows B, source length S and target length T, tokens.
    """
    return 3 * forward_flops(config, vocabulary_size, batch_shape)


def forward_flops(
    config: TransformerConfig, vocabulary_size: int, batch_shape: tuple[int, int, int]
) -> float:
    """Counts the operations of the forward pass: matrix products only, two per multiply-add.

    With K = h · d_k and K' = h · d_v, the multiply-adds of one layer are, per position:

        as a query            D K + K' D           query and output projections
        as a key              D K + D K'           key and value projections
        per query-key pair    K + K'               scores, weighted sum
        feed-forward          2 D F

    and D V for the logits of each target position. Every pair of a row's positions is counted,
    masked or not.

    Args:
        config: the architecture.
        vocabulary_size: V.
        batch_shape: rows B, source length S and target length T.
    """
    rows, source, target = batch_shape
    keys, values = config.num_heads * config.key_dim, config.num_heads * config.value_dim
    as_query = as_key = config.model_dim * (keys + values)
    pair = keys + values
    feed_forward = 2 * config.model_dim * config.feed_forward_dim
    encoder = source * (as_query + as_key + source * pair + feed_forward)
    decoder = target * (as_query + as_key + target * pair + feed_forward)
    memory = target * as_query + source * as_key + target * source * pair
    logits = target * config.model_dim * vocabulary_size
    layers = config.depths.encoder * encoder + config.depths.decoder * (decoder + memory)
    return 2.0 * rows * (layers + logits)


def time_products(threads: Executor, count: int, size: int, dtype: str) -> float:
    """Returns the seconds that `count` products of square matrices take in parallel."""
    matrix = tf.ones((size, size), dtype)

    def multiply(_: int) -> None:
        tf.matmul(matrix, matrix)[0, 0].numpy()  # waits for the device

    start = time.perf_counter()
    list(threads.map(multiply, range(count)))
    return time.perf_counter() - start


def measure_peak(
    dtype: str, *, cores: int | None = None, time_products: TimeProducts = time_products
) -> float:
    """Measures the peak operations per second of one device, in under a second.

    Every processor core computes a product of its own, so the result does not depend on the number
    of threads that share an operation.

    Args:
        dtype: type of the model's products, such as "bfloat16".
        cores: of the processor; by default those of this process. A GPU computes one product.
        time_products: the clock.

    Returns:
        The best of several products large enough to keep the device busy.
    """
    cores = 1 if tf.config.list_logical_devices("GPU") else cores or processor_cores()
    size, best, spent = _SMALLEST, 0.0, 0.0
    with ThreadPoolExecutor(cores) as threads:
        time_products(threads, cores, size, dtype)  # the first use of a device is slow
        while spent < _MEASURED_SECONDS:
            seconds = time_products(threads, cores, size, dtype)
            spent += seconds
            best = max(best, cores * 2.0 * size**3 / seconds)
            if seconds < cores * _LONG_PRODUCT_SECONDS and size < _LARGEST:
                size *= 2
    return best
