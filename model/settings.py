"""Settings of configurations: how a field is declared and its value checked.

The same text as `pipeline/common/settings.py`, because `model` imports Keras and the standard
library only; a test compares them. The trainer's commands make a flag of each field, so errors name
fields as flags.
"""

import dataclasses
import math
from typing import Any, TypeVar, get_args, get_type_hints

Value = TypeVar("Value")


def setting(default: Value, help_text: str, *, may_change: bool = False) -> Value:
    """Declares a field of a configuration: its default and the help text of its flag.

    mypy sees the default itself, so it checks its type against the field's.

    Args:
        default: value if the flag is not given.
        help_text: what the flag sets, with its unit and the § of the paper.
        may_change: whether a resumed run may use another value than it started with.
    """
    metadata = {"help": help_text, "may_change": may_change}
    return dataclasses.field(default=default, metadata=metadata)


def required_setting(help_text: str) -> Any:
    """Declares a field without a default: its flag must be given."""
    return dataclasses.field(metadata={"help": help_text})


def as_flags(config: object, *names: str) -> str:
    """Returns fields as the user types them, such as "--top_k=5 with --temperature=0.0"."""
    first, *others = (f"--{name}={_as_text(getattr(config, name))}" for name in names)
    return " with ".join([first, " and ".join(others)]) if others else first


def require(condition: bool, expected: str, received: str) -> None:
    """Checks a condition that the user's input must meet.

    Args:
        condition: whether the input is accepted.
        expected: accepted input, and the remedy if there is one.
        received: the input, such as flags as the user types them.

    Raises:
        ValueError: "received --seed=-1: expected at least 0".
    """
    if not condition:
        raise ValueError(f"received {received}: expected {expected}")


def require_range(
    config: object,
    *names: str,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    below: float = math.inf,
) -> None:
    """Checks that fields hold finite numbers within bounds.

    Raises:
        ValueError: as `require`.
    """
    bounds = {"above": above, "at least": at_least, "at most": at_most, "below": below}
    limits = [f"{words} {bound}" for words, bound in bounds.items() if math.isfinite(bound)]
    for name in names:
        value = getattr(config, name)
        is_within = above < value < below and at_least <= value <= at_most
        expected = limits if math.isfinite(value) else [*limits, "finite"]
        require(is_within, " and ".join(expected), as_flags(config, name))


def require_choice(config: object, *names: str) -> None:
    """Checks that fields hold one of the values of their `Literal` type.

    Raises:
        ValueError: as `require`.
    """
    hints = get_type_hints(type(config))
    for name in names:
        choices = get_args(hints[name])
        require(getattr(config, name) in choices, " or ".join(choices), as_flags(config, name))


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)
