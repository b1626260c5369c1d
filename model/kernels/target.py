"""The kind of processor that graphs are traced for: the one at hand, or another for an export."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Literal

Target = Literal["cpu", "gpu"]

_requested: contextvars.ContextVar[Target | None] = contextvars.ContextVar("target", default=None)


@contextlib.contextmanager
def trace_for(target: Target) -> Iterator[None]:
    """Traces graphs, and lays out weights, for one kind of processor, whatever is at hand."""
    token = _requested.set(target)
    try:
        yield
    finally:
        _requested.reset(token)


def current_target() -> Target:
    """Returns what `trace_for` requests; otherwise "gpu" if TensorFlow has one, else "cpu"."""
    requested = _requested.get()
    if requested:
        return requested
    import keras

    if keras.backend.backend() != "tensorflow":
        return "cpu"
    import tensorflow as tf

    return "gpu" if tf.config.list_logical_devices("GPU") else "cpu"
