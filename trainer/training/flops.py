"""Floating-point operations: what the model asks for by formula, and what the device can do."""

import time
from concurrent.futures import Executor, ThreadPoolExecutor

import tensorflow as tf

from model.config import TransformerConfig
from trainer.runtime.startup import processor_cores

_SMALLEST, _LARGEST = 256, 8192  # rows of the matrices
_BUSY_SECONDS = 0.02  # a core; products that take longer measure no better
_MEASURED_SECONDS = 0.3


def update_flops(
    config: TransformerConfig, vocabulary_size: int, batch_shape: tuple[int, int, int]
) -> float:
    """Counts the operations of an update: three times those of `forward_flops`.

    Each product y = x W has two of the same size in the backward pass, for the gradients of x and
    of W. Padding counts, as the device multiplies it too.

    Args:
        config: the architecture.
        vocabulary_size: V.
        batch_shape: rows B, source length S and target length T.
    """
    return 3 * forward_flops(config, vocabulary_size, batch_shape)


def forward_flops(
    config: TransformerConfig, vocabulary_size: int, batch_shape: tuple[int, int, int]
) -> float:
    """Counts the operations of the matrix products alone, two for each multiply-add.

    With K = h · d_k and K' = h · d_v, multiply-adds of one layer for each position:

        attention from it           D K + K' D           queries, output
        attention to it             D K + D K'           keys, values
        each key that it looks at   K + K'               scores, weighted sum
        feed-forward                2 D F

    and D V for the logits of each target position. All of a row's positions are looked at, masked
    or not.

    Args:
        config: the architecture.
        vocabulary_size: V.
        batch_shape: rows B, source length S and target length T.
    """
    rows, source, target = batch_shape
    keys, values = config.num_heads * config.key_dim, config.num_heads * config.value_dim
    attends = attended_to = config.model_dim * (keys + values)
    look = keys + values
    feed_forward = 2 * config.model_dim * config.feed_forward_dim
    encoder = source * (attends + attended_to + source * look + feed_forward)
    decoder = target * (attends + attended_to + target * look + feed_forward)
    memory = target * attends + source * attended_to + target * source * look
    logits = target * config.model_dim * vocabulary_size
    return 2.0 * rows * (config.num_layers * (encoder + decoder + memory) + logits)


def measure_peak(dtype: str) -> float:
    """Measures the operations a second of large matrix products on one device, in under 1 s.

    Each processor core computes one at once, so that it does not matter on how many threads.

    Args:
        dtype: type of the model's products, such as "bfloat16".

    Returns:
        the best of several products of a size that keeps the device busy.
    """
    cores = 1 if tf.config.list_logical_devices("GPU") else processor_cores()
    size, best, spent = _SMALLEST, 0.0, 0.0
    with ThreadPoolExecutor(cores) as threads:
        _time_products(threads, cores, size, dtype)  # the first use of a device is slow
        while spent < _MEASURED_SECONDS:
            seconds = _time_products(threads, cores, size, dtype)
            spent += seconds
            best = max(best, cores * 2.0 * size**3 / seconds)
            if seconds < cores * _BUSY_SECONDS and size < _LARGEST:
                size *= 2
    return best


def _time_products(threads: Executor, count: int, size: int, dtype: str) -> float:
    """Returns the seconds that so many products at once take."""
    matrix = tf.ones((size, size), dtype)

    def multiply(_: int) -> None:
        tf.matmul(matrix, matrix)[0, 0].numpy()  # waits for the device

    start = time.perf_counter()
    list(threads.map(multiply, range(count)))
    return time.perf_counter() - start
