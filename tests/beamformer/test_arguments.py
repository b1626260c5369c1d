"""Keyword arguments are checked as flags are, and refused with the same words."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from beamformer.arguments import check_names, field_names, make_config, override_config
from pipeline.common.errors import UserError
from pipeline.common.settings import require_choice, require_range, required_setting, setting


@dataclasses.dataclass(frozen=True)
class Inner:
    depth: int = setting(2, "Depth.")


@dataclasses.dataclass(frozen=True)
class Settings:
    place: str = required_setting("Where.")
    inner: Inner = setting(Inner(), "More.")
    files: tuple[str, ...] = setting((), "Files.")
    rate: float = setting(0.5, "Rate.")
    fast: bool | None = setting(None, "Fast.")
    form: Literal["round", "flat"] = setting("flat", "Form.")

    def __post_init__(self) -> None:
        require_range(self, "rate", at_least=0)
        require_choice(self, "form")


def test_fields_are_filled_in_their_types() -> None:
    given: dict[str, Any] = {
        "place": Path("a") / "b",
        "depth": np.int64(3),
        "files": ["x", Path("y")],
        "rate": 1,
        "fast": True,
        "unrelated": 1,
    }
    config = make_config(Settings, given)
    assert config == Settings("a/b", Inner(3), ("x", "y"), 1.0, True)
    assert [type(config.inner.depth), type(config.rate)] == [int, float]
    assert make_config(Settings, {"place": "a", "files": "x,y"}).files == ("x,y",)
    changed = override_config(config, {"rate": 2, "depth": 9})
    assert changed == dataclasses.replace(config, rate=2.0)
    assert field_names(Settings)[:3] == ["place", "depth", "files"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate": -1}, "received --rate=-1.0: expected at least 0"),
        ({"rate": "1"}, "received --rate='1': expected a number"),
        ({"rate": None}, "received --rate=None: expected a number"),
        ({"depth": 2.5}, "received --depth=2.5: expected a whole number"),
        ({"depth": True}, "received --depth=True: expected a whole number"),
        ({"fast": 1}, "received --fast=1: expected True or False"),
        ({"files": 3}, "received --files=3: expected a list of strings"),
        ({"files": [3]}, "received --files=3: expected a string"),
        ({"form": "square"}, "received --form=square: expected round or flat"),
    ],
)
def test_a_wrong_value_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as raised:
        make_config(Settings, {"place": "a", **wrong})
    assert str(raised.value) == message


def test_a_missing_argument_is_explained() -> None:
    with pytest.raises(UserError, match="^--place is required: Where.$"):
        make_config(Settings, {})


def test_an_unknown_name_has_the_nearest_one() -> None:
    check_names({"depth": 1, "place": "a"}, Settings)
    with pytest.raises(UserError, match="^unknown flag --dept; nearest: --depth$"):
        check_names({"dept": 1}, Inner, Settings)
