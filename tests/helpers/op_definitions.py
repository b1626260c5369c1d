"""Op definitions of a TensorFlow release, to compare an exported graph with.

    python -m tests.helpers.op_definitions SITE_PACKAGES 2.19.1 SAVED_MODEL…

SITE_PACKAGES holds the unpacked wheels of that release of TensorFlow and of TensorFlow Text. Writes
the definitions of the ops that the models use to tests/trainer/exporters/tf_serving_ops.json.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from tensorflow.core.framework import graph_pb2, node_def_pb2, op_def_pb2
from tensorflow.core.protobuf import saved_model_pb2

from tests.helpers import c_api

RECORD = Path(__file__).parents[1] / "trainer" / "exporters" / "tf_serving_ops.json"
_ARGUMENT = ("type", "typeAttr", "numberAttr", "typeListAttr", "isRef")
_ATTRIBUTE = ("name", "type", "defaultValue", "allowedValues")
Definitions = dict[str, dict[str, Any]]


def read_graph(directory: Path) -> graph_pb2.GraphDef:
    """Returns the graph of a SavedModel."""
    model = saved_model_pb2.SavedModel()
    model.ParseFromString((directory / "saved_model.pb").read_bytes())
    return model.meta_graphs[0].graph_def


def list_nodes(graph: graph_pb2.GraphDef) -> Iterator[node_def_pb2.NodeDef]:
    """Yields the nodes of a graph and of its functions that are ops, not calls of functions."""
    functions = {function.signature.name for function in graph.library.function}
    bodies = [graph.node, *(function.node_def for function in graph.library.function)]
    for nodes in bodies:
        yield from (node for node in nodes if node.op not in functions)


def describe(definitions: Iterable[op_def_pb2.OpDef]) -> Definitions:
    """Returns what a graph depends on of definitions, by name: arguments and attributes."""
    described = {}
    for definition in definitions:
        values = MessageToDict(definition)
        for arguments in ("inputArg", "outputArg"):
            values[arguments] = [_keep(each, _ARGUMENT) for each in values.get(arguments, [])]
        values["attr"] = [_keep(each, _ATTRIBUTE) for each in values.get("attr", [])]
        described[definition.name] = _keep(values, ("inputArg", "outputArg", "attr"))
    return described


def _keep(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def main(site_packages: str, version: str, *models: str) -> None:
    """Writes the record."""
    command = [sys.executable, c_api.__file__, "--ops", site_packages]
    listed = subprocess.run(command, check=True, capture_output=True)  # two releases, two processes
    definitions = op_def_pb2.OpList.FromString(listed.stdout)
    used = {node.op for model in models for node in list_nodes(read_graph(Path(model)))}
    described = describe(op for op in definitions.op if op.name in used)
    record = {"tensorflow": version, "ops": dict(sorted(described.items()))}
    RECORD.write_text(json.dumps(record, indent=0) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
