"""Keyword arguments as configurations: the names, types and checks of the commands' flags."""

import dataclasses
import numbers
import os
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pipeline.common.cli import refuse_unknown
from pipeline.common.errors import UserError

Config = TypeVar("Config")


def check_names(arguments: Mapping[str, Any], *config_classes: type) -> None:
    """Checks that every argument is a field of one of the dataclasses.

    Raises:
        UserError: naming the nearest fields.
    """
    known = [name for config_class in config_classes for name in field_names(config_class)]
    for name in arguments:
        if name not in known:
            refuse_unknown(f"--{name}", known)


def field_names(config_class: type) -> list[str]:
    """Returns the fields of a dataclass; those of a dataclass within it in its place."""
    hints = typing.get_type_hints(config_class)
    names: list[str] = []
    for field in dataclasses.fields(config_class):
        hint = hints[field.name]
        is_nested = dataclasses.is_dataclass(hint)
        names += field_names(typing.cast(type, hint)) if is_nested else [field.name]
    return names


def make_config(config_class: type[Config], arguments: Mapping[str, Any]) -> Config:
    """Makes a configuration of those arguments that are its fields; the others have defaults.

    Raises:
        UserError: a required field is missing, a value has another type, or the dataclass refuses
            it: its `__post_init__` raised ValueError.
    """
    values: dict[str, Any] = {}
    hints = typing.get_type_hints(config_class)
    for field in dataclasses.fields(config_class):  # type: ignore[arg-type]
        hint = hints[field.name]
        if dataclasses.is_dataclass(hint):
            values[field.name] = make_config(typing.cast(type, hint), arguments)
        elif field.name in arguments:
            values[field.name] = _convert(field.name, arguments[field.name], hint)
        elif field.default is dataclasses.MISSING:
            raise UserError(f"--{field.name} is required: {field.metadata['help']}")
    return _checked(lambda: config_class(**values))


def override_config(config: Config, arguments: Mapping[str, Any]) -> Config:
    """Returns a configuration with those fields replaced that are among the arguments.

    Raises:
        UserError: as `make_config`.
    """
    hints = typing.get_type_hints(type(config))
    values = {
        field.name: _convert(field.name, arguments[field.name], hints[field.name])
        for field in dataclasses.fields(config)  # type: ignore[arg-type]
        if field.name in arguments
    }
    return _checked(lambda: dataclasses.replace(config, **values))  # type: ignore[type-var]


def _checked(make: Any) -> Any:
    try:
        return make()
    except ValueError as error:
        raise UserError(str(error)) from error


def _convert(name: str, value: Any, hint: Any) -> Any:
    """Returns a value in the type of its field; lists become tuples, paths become text."""
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        (hint,) = (member for member in typing.get_args(hint) if member is not type(None))
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if typing.get_origin(hint) is tuple:
        return _convert_list(name, value)
    expected, accepted = _TYPES.get(hint, _TYPES[str])  # a Literal is text
    if not isinstance(value, accepted) or (isinstance(value, bool) and hint is not bool):
        raise _wrong_type(name, value, expected)
    return hint(value) if hint in _TYPES else value


def _convert_list(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence):
        raise _wrong_type(name, value, "a list of strings")
    return tuple(_convert(name, item, str) for item in value)


def _wrong_type(name: str, value: Any, expected: str) -> UserError:
    return UserError(f"received --{name}={value!r}: expected {expected}")


_TYPES: dict[Any, tuple[str, Any]] = {
    bool: ("True or False", bool),
    int: ("a whole number", numbers.Integral),
    float: ("a number", numbers.Real),
    str: ("a string", str),
}
