"""Where the operations of a traced function would run on a machine with a GPU.

TensorFlow's registry of kernels lists those for GPUs also in a process without any, if TensorFlow
was built with CUDA, as PyPI's wheels for Linux on x86 are. What Grappler makes of a graph when it
runs is not seen here.
"""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry

_FEEDS = {"Placeholder", "_Arg", "_Retval"}  # a function's own inputs and outputs


def has_gpu_kernels() -> bool:
    """Returns whether this TensorFlow was built for GPUs."""
    return any(kernel.device_type == "GPU" for kernel in _kernels_of("MatMul"))


class Operation(NamedTuple):
    """An operation of a traced function.

    name: with the types of its attributes, such as "Cast(int32, float32)".
    device: "GPU"; "host" if its kernel for GPUs computes all its outputs in the memory of the host,
        from where and to where tensors are then copied; "CPU" without a kernel for GPUs.
    rank: the largest of its outputs; 99 if unknown.
    """

    name: str
    device: str
    rank: int


def list_operations(function: Any) -> set[Operation]:
    """Lists the operations of a concrete function and of the functions that it calls."""
    return {Operation(_describe(node), _device(node), _rank(node)) for node in _nodes(function)}


def _nodes(function: Any) -> Iterator[Any]:
    """Yields the nodes of a concrete function and of the functions that it calls."""
    graph = function.graph.as_graph_def(add_shapes=True)
    library = {definition.signature.name: definition for definition in graph.library.function}
    pending, seen = [list(graph.node)], set()
    while pending:
        for node in pending.pop():
            called = [value.func.name for value in node.attr.values() if value.HasField("func")]
            called += [func.name for value in node.attr.values() for func in value.list.func]
            called += [node.op] if node.op in library else []
            new = [name for name in called if name in library and name not in seen]
            seen.update(new)
            pending += [list(library[name].node_def) for name in new]
            if node.op not in _FEEDS and node.op not in library:
                yield node


@functools.cache
def _kernels_of(operation: str) -> tuple[Any, ...]:
    return tuple(kernels.get_registered_kernels_for_op(operation).kernel)


def _gpu_kernel(node: Any) -> Any | None:
    """Returns the kernel that runs a node on a GPU; "DEFAULT" kernels run on any device."""
    for device in ("GPU", "DEFAULT"):
        for kernel in _kernels_of(node.op):
            if kernel.device_type == device and not kernel.label and _takes(kernel, node):
                return kernel
    return None


def _takes(kernel: Any, node: Any) -> bool:
    """Returns whether the types of a node are those of a kernel."""
    return all(
        set(_types(node, constraint.name)) <= set(constraint.allowed_values.list.type)
        for constraint in kernel.constraint
    )


def _types(node: Any, attribute: str) -> list[int]:
    value = node.attr[attribute]
    return [value.type] if value.type else list(value.list.type)


def _device(node: Any) -> str:
    kernel = _gpu_kernel(node)
    if kernel is None:
        return "CPU"
    outputs = {output.name for output in op_def_registry.get(node.op).output_arg}
    return "host" if outputs and outputs <= set(kernel.host_memory_arg) else "GPU"


def _rank(node: Any) -> int:
    shapes = node.attr["_output_shapes"].list.shape
    return max((99 if shape.unknown_rank else len(shape.dim) for shape in shapes), default=0)


def _describe(node: Any) -> str:
    """Returns the operation with the types of its attributes, such as "Cast(int32, float32)"."""
    definition = op_def_registry.get(node.op)
    names = [attribute.name for attribute in definition.attr if attribute.type == "type"]
    types = [tf.dtypes.as_dtype(kind).name for name in names for kind in _types(node, name)]
    return f"{node.op}({', '.join(types)})"
