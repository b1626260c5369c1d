"""Maps over many rows in bounded memory: one chunk of rows after another."""

from collections.abc import Callable, Sequence

import keras
from keras import ops

from model import Tensor
from model.kernels.shapes import ceil_div


def map_chunks(
    function: Callable[..., Tensor],
    arrays: Sequence[Tensor],
    *,
    rows_per_chunk: int,
    columns: int,
) -> Tensor:
    """Applies a function of rows to equal chunks, so that it has few rows in memory at a time.

    Args:
        function: takes a chunk of each array, `[n, …]`, and returns float32 `[n, columns]`. The
            last chunk is padded with rows of zeros, whose results are dropped.
        arrays: each `[N, …]`.
        rows_per_chunk: largest n, at least 1.
        columns: results of a row.

    Returns:
        float32 `[N, columns]`: for `function = sum of two arrays` `[N, 1]`, `[[1], [2], [3]]` and
        `[[4], [5], [6]]` give `[[5], [7], [9]]` whatever the chunks.
    """
    rows = ops.shape(arrays[0])[0]
    chunks = rows // rows_per_chunk + 1
    size = ceil_div(rows, chunks)

    def split(x: Tensor) -> Tensor:
        padding = [(0, chunks * size - rows), *[(0, 0)] * (len(x.shape) - 1)]
        return ops.reshape(ops.pad(x, padding), (chunks, size, *x.shape[1:]))

    results = _map_in_sequence(lambda parts: function(*parts), tuple(map(split, arrays)))
    return ops.reshape(results, (-1, columns))[:rows]


def _map_in_sequence(
    function: Callable[[tuple[Tensor, ...]], Tensor], parts: tuple[Tensor, ...]
) -> Tensor:
    """As `ops.map`, which in a TensorFlow graph would compute ten parts at the same time."""
    if keras.backend.backend() != "tensorflow":
        return ops.map(function, parts)
    import tensorflow as tf

    return tf.map_fn(function, parts, fn_output_signature=tf.float32, parallel_iterations=1)
