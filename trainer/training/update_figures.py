"""Figures of updates: written by the train step on the device, read much later by the host."""

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf


class UpdateFigures(NamedTuple):
    """Figures of one update, for the global batch.

    loss, nll: smoothed and plain cross-entropy, nats per target token.
    source_tokens, target_tokens: real tokens, without padding.
    gradient_norm: Euclidean norm of all gradients together.
    finite: 1, or 0 if loss or gradients were not finite and the update was skipped.
    loss_scale: 1 except under float16.
    learning_rate: the rate that the update was made with.
    """

    loss: float
    nll: float
    source_tokens: float
    target_tokens: float
    gradient_norm: float
    finite: float
    loss_scale: float
    learning_rate: float


class FigureTable:
    """The figures of the latest updates, in a variable on the device.

    To read a value from a GPU, the host must wait until the GPU has computed it, and meanwhile
    queues no work. Hence the step only writes; one reading fetches many updates.

    Args:
        rows: updates that the table holds; update n, counted from 0, is in row n mod `rows`.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        columns = len(UpdateFigures._fields)
        self._table = keras.Variable(np.zeros((rows, columns), np.float32), trainable=False)

    def write(self, update: tf.Tensor, figures: tf.Tensor) -> None:
        """Writes the figures, float32 in the order of `UpdateFigures`, of update number `update`.

        Runs in a replica and writes that replica's copy.
        """
        tf.raw_ops.ResourceScatterUpdate(
            resource=self._table.value.handle, indices=update % self.rows, updates=figures
        )

    def read(self, first: int, last: int) -> list[UpdateFigures]:
        """Returns the figures of the updates from `first` up to, not including, `last`."""
        table = keras.ops.convert_to_numpy(self._table).tolist()
        return [UpdateFigures(*table[update % self.rows]) for update in range(first, last)]
