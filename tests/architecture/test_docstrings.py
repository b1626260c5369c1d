"""Everything public explains itself: docstrings, and the help of every configuration field."""

import ast
import dataclasses
import importlib
import inspect
from collections.abc import Iterator

from pipeline.common.settings import setting
from tests.architecture.source import read_modules

# Methods that Keras calls and documents; the class's docstring says what ours do.
KERAS_METHODS = frozenset({"build", "call", "get_config", "compute_output_shape"})
KERAS_HOOKS = "on_"

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def undocumented(module: str, source: str) -> list[str]:
    """Returns the public names without a docstring whose first line ends in a period."""
    return [
        name
        for name, node in _public(module, ast.parse(source))
        if not _first_line(ast.get_docstring(node)).endswith(".")
    ]


def _public(name: str, node: Documented) -> Iterator[tuple[str, Documented]]:
    yield name, node
    if isinstance(node, ast.Module | ast.ClassDef):
        for child in node.body:
            if isinstance(child, Documented) and not _exempt(child.name, node):
                yield from _public(f"{name}.{child.name}", child)


def _exempt(name: str, parent: Documented) -> bool:
    if name.startswith("_"):
        return True
    overridden = name in KERAS_METHODS or name.startswith(KERAS_HOOKS)
    return isinstance(parent, ast.ClassDef) and overridden


def _first_line(docstring: str | None) -> str:
    return (docstring or "").partition("\n")[0]


def fields_without_help(config_class: type) -> list[str]:
    """Returns the fields of a dataclass that `--help` could say nothing about."""
    return [
        f"{config_class.__name__}.{field.name}"
        for field in dataclasses.fields(config_class)
        if not str(field.metadata.get("help", "")).rstrip().endswith(".")
    ]


def config_classes() -> list[type]:
    """Returns the dataclasses named `…Config`, of modules that define one."""
    return [
        value
        for name, source in read_modules().items()
        if any(
            isinstance(node, ast.ClassDef) and node.name.endswith("Config")
            for node in ast.parse(source).body
        )
        for value in vars(importlib.import_module(name)).values()
        if inspect.isclass(value)
        and value.__module__ == name
        and value.__name__.endswith("Config")
        and dataclasses.is_dataclass(value)
    ]


def test_public_names_have_a_docstring() -> None:
    missing = [name for module in read_modules().items() for name in undocumented(*module)]
    assert missing == []


def test_configuration_fields_have_help() -> None:
    classes = config_classes()
    assert classes
    assert [name for class_ in classes for name in fields_without_help(class_)] == []


def test_missing_and_unfinished_docstrings_are_reported() -> None:
    source = '''
"""Module."""
class Layer:
    """A noun without its period"""
    def call(self): ...
    def on_epoch_end(self): ...
    def attend(self): ...
    def _private(self): ...
def call(): ...
def documented():
    """Does it.

    At length
    """
'''
    expected = ["model.layers.Layer", "model.layers.Layer.attend", "model.layers.call"]
    assert undocumented("model.layers", source) == expected


def test_module_without_docstring_is_reported() -> None:
    assert undocumented("model.masks", "import keras") == ["model.masks"]


def test_configuration_field_without_help_is_reported() -> None:
    @dataclasses.dataclass(frozen=True)
    class SearchConfig:
        beam_width: int = setting(4, "Hypotheses kept, W.")
        alpha: float = setting(0.6, "no sentence")
        extra_tokens: int = 50

    assert fields_without_help(SearchConfig) == ["SearchConfig.alpha", "SearchConfig.extra_tokens"]
