"""TF Serving's batching parameters, parsed as the server parses them, and what they promise."""

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from tests.architecture.source import ROOT
from trainer.exporters.driver import ExportConfig

# Of BatchingParameters in session_bundle_config.proto of TF Serving: wrapped numbers by name.
WRAPPED = {
    "max_batch_size": (1, "Int64Value"),
    "batch_timeout_micros": (2, "Int64Value"),
    "max_enqueued_batches": (3, "Int64Value"),
    "num_batch_threads": (4, "Int64Value"),
    "enable_large_batch_splitting": (8, "BoolValue"),
    "max_execution_batch_size": (9, "Int64Value"),
}


@pytest.fixture
def parameters() -> Any:
    fields = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="batching.proto", package="batching", dependency=["google/protobuf/wrappers.proto"]
    )
    message = file.message_type.add(name="BatchingParameters")
    for name, (number, kind) in WRAPPED.items():
        kind = f".google.protobuf.{kind}"
        message.field.add(name=name, number=number, type=fields.TYPE_MESSAGE, type_name=kind)
    message.field.add(name="pad_variable_length_inputs", number=7, type=fields.TYPE_BOOL)
    for field in message.field:
        field.label = fields.LABEL_OPTIONAL
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_wrappers())
    pool.Add(file)
    kind = message_factory.GetMessageClass(
        pool.FindMessageTypeByName("batching.BatchingParameters")
    )
    return text_format.Parse((ROOT / "serving/batching.config").read_text(), kind())


def _wrappers() -> bytes:
    from google.protobuf import wrappers_pb2

    return wrappers_pb2.DESCRIPTOR.serialized_pb


def test_a_request_of_any_size_is_split_into_batches_that_the_model_accepts(
    parameters: Any,
) -> None:
    assert parameters.enable_large_batch_splitting.value
    batch = parameters.max_execution_batch_size.value
    assert batch == ExportConfig("out").max_batch
    assert batch < parameters.max_batch_size.value
    waiting = parameters.max_enqueued_batches.value
    assert parameters.max_batch_size.value <= batch * waiting  # else refused as a full queue


def test_requests_of_ids_are_joined_too(parameters: Any) -> None:
    assert parameters.pad_variable_length_inputs
