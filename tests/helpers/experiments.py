"""Flagfiles compared field by field."""

import dataclasses
from typing import Any

from trainer.paper.flagfiles import Experiment


def differences(first: Experiment, second: Experiment) -> dict[str, Any]:
    """Returns the fields, with the values of `second`, in which two experiments differ."""
    pairs: list[tuple[Any, Any]] = list(zip(first, second, strict=True))
    return {
        field.name: getattr(theirs, field.name)
        for mine, theirs in pairs
        for field in dataclasses.fields(mine)
        if getattr(mine, field.name) != getattr(theirs, field.name)
    }
