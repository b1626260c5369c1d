"""Flagfiles compared field by field."""

import dataclasses
from typing import Any

from trainer.paper.flagfiles import Experiment


def differences(one: Experiment, other: Experiment) -> dict[str, Any]:
    """Returns the fields, with the values of `other`, in which two experiments differ."""
    pairs: list[tuple[Any, Any]] = list(zip(one, other, strict=True))
    return {
        field.name: getattr(theirs, field.name)
        for mine, theirs in pairs
        for field in dataclasses.fields(mine)
        if getattr(mine, field.name) != getattr(theirs, field.name)
    }
