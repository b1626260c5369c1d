"""The ops of an export exist, as it uses them, in the TensorFlow release that TF Serving has.

serving/README.md names the image; tests.helpers.op_definitions recorded the definitions of its
release. TensorFlow promises that a newer release loads an older graph, not the other way round.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from tensorflow.core.framework import graph_pb2, node_def_pb2
from tensorflow.python.framework import op_def_registry

from tests.architecture.source import ROOT
from tests.helpers.op_definitions import RECORD, Definitions, describe, list_nodes, read_graph

OLD = json.loads(RECORD.read_text())


def incompatibilities(graph: graph_pb2.GraphDef, old: Definitions) -> Iterator[str]:
    """Yields what a runtime with the `old` definitions would refuse."""
    nodes = list(list_nodes(graph))
    names = sorted({node.op for node in nodes})
    new = describe(op_def_registry.get(name) for name in names)
    for name in names:
        if name not in old:
            yield f"{name}: not in the record: add it with tests.helpers.op_definitions"
    for node in nodes:
        if node.op in old:
            if _arguments(node, old[node.op]) != _arguments(node, new[node.op]):
                yield f"{node.op}: other inputs or outputs"
            yield from _attributes(node, old[node.op], new[node.op])


def _arguments(node: node_def_pb2.NodeDef, definition: dict) -> list[list[dict]]:
    """Returns the inputs and outputs of a node, with the types that its attributes name."""
    types = {each["name"]: each.get("defaultValue") for each in definition["attr"]}
    types |= {name: MessageToDict(value) for name, value in node.attr.items()}

    def resolve(argument: dict) -> dict:
        name = argument.get("typeAttr")
        return {**argument, **types[name], "typeAttr": ""} if name else {**argument, "typeAttr": ""}

    return [[resolve(each) for each in definition[side]] for side in ("inputArg", "outputArg")]


def _attributes(node: node_def_pb2.NodeDef, old: dict, new: dict) -> Iterator[str]:
    known = {attribute["name"]: attribute for attribute in old["attr"]}
    defaults = {each["name"]: each.get("defaultValue") for each in new["attr"]}
    for name, value in node.attr.items():
        if name.startswith("_"):
            continue
        received = MessageToDict(value)
        if name not in known:  # a runtime drops unknown attributes that have their default
            if received != defaults.get(name):
                yield f"{node.op}: {name} = {received} is unknown"
            continue
        allowed = known[name].get("allowedValues", {}).get("list", {}).get("type")
        if allowed and received.get("type") not in allowed:
            yield f"{node.op}: {name} = {received} is not allowed"


def test_tf_serving_s_release_has_every_op_of_an_export(saved_model: Path) -> None:
    graph = read_graph(saved_model)
    assert len({node.op for node in list_nodes(graph)}) > 50
    assert list(incompatibilities(graph, OLD["ops"])) == []


def test_the_documented_image_is_of_the_release_compared_with() -> None:
    document = (ROOT / "serving/README.md").read_text(encoding="utf-8")
    assert f"tensorflow/serving:{OLD['tensorflow']} " in document


def remove_softmax(ops: Definitions) -> None:
    del ops["Softmax"]


def add_an_input(ops: Definitions) -> None:
    ops["Softmax"]["inputArg"].append({"type": "DT_INT32"})


def remove_an_attribute(ops: Definitions) -> None:
    del ops["Softmax"]["attr"][0]


def allow_half_alone(ops: Definitions) -> None:
    ops["Softmax"]["attr"][0]["allowedValues"]["list"]["type"] = ["DT_HALF"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (remove_softmax, "Softmax: not in the record"),
        (add_an_input, "Softmax: other inputs or outputs"),
        (remove_an_attribute, "Softmax: T = .*DT_FLOAT.* is unknown"),
        (allow_half_alone, "Softmax: T = .*DT_FLOAT.* is not allowed"),
    ],
)
def test_a_difference_is_reported(
    saved_model: Path, change: Callable[[Definitions], None], expected: str
) -> None:
    old = json.loads(RECORD.read_text())["ops"]
    change(old)
    (reported,) = set(incompatibilities(read_graph(saved_model), old))
    assert re.match(expected, reported)
