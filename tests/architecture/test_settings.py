"""`model` must not import the pipeline, so how settings are declared stands in both, alike."""

import inspect
from types import FunctionType, ModuleType

import model.settings
import pipeline.common.settings


def functions(module: ModuleType) -> dict[str, str]:
    """Returns the source text of each function that a module defines, by name."""
    return {
        name: inspect.getsource(value)
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    }


def test_settings_are_declared_and_refused_alike_in_model_and_pipeline() -> None:
    ours = functions(pipeline.common.settings)
    assert {"setting", "require", "require_range", "require_choice"} <= ours.keys()
    assert functions(model.settings) == ours
