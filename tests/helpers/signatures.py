"""The signatures of a SavedModel, by the names of their tensors, for TensorFlow's C API."""

from pathlib import Path
from typing import NamedTuple

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

KINDS = {tf.string: "string", tf.float32: "float", tf.int32: "int", tf.bool: "bool"}


class Signature(NamedTuple):
    """Tensors of a signature: those of its inputs, and of its outputs with their kind, by name."""

    inputs: dict[str, str]
    outputs: dict[str, tuple[str, str]]


def read_signature(directory: Path, name: str) -> Signature:
    """Reads a signature."""
    model = saved_model_pb2.SavedModel()
    model.ParseFromString((directory / "saved_model.pb").read_bytes())
    definition = model.meta_graphs[0].signature_def[name]
    outputs = {
        output: (info.name, KINDS[tf.dtypes.as_dtype(info.dtype)])
        for output, info in definition.outputs.items()
    }
    return Signature({name: info.name for name, info in definition.inputs.items()}, outputs)
