import dataclasses
import math
from typing import Any, Literal

import pytest

from pipeline.common.settings import (
    as_flags,
    require,
    require_choice,
    require_range,
    required_setting,
    setting,
)


@dataclasses.dataclass(frozen=True)
class Oven:
    kitchen: str = required_setting("Where it stands.")
    degrees: int = setting(220, "Heat in °C.", may_change=True)
    share: float = setting(0.5, "Share of rye.")
    fuel: Literal["gas", "wood"] = setting("gas", "What burns.")
    is_open: bool = setting(False, "Whether its door is open.")
    loaves: tuple[str, ...] = setting((), "Names of the loaves.")
    timer: int | None = setting(None, "Minutes.")


@dataclasses.dataclass(frozen=True)
class Mistaken:
    """mypy checks a default against its field's type; an unused `ignore` would be reported."""

    degrees: int = setting("hot", "Heat in °C.")  # type: ignore[assignment]
    fuel: Literal["gas", "wood"] = setting("oil", "What burns.")  # type: ignore[arg-type]


def test_a_setting_is_a_field_with_its_default_and_help() -> None:
    fields = {field.name: field for field in dataclasses.fields(Oven)}
    assert Oven("cellar").degrees == 220
    assert fields["degrees"].metadata == {"help": "Heat in °C.", "may_change": True}
    assert fields["share"].metadata == {"help": "Share of rye.", "may_change": False}


def test_a_required_setting_has_no_default() -> None:
    with pytest.raises(TypeError, match="kitchen"):
        Oven()
    assert dataclasses.fields(Oven)[0].default is dataclasses.MISSING


def test_what_cannot_work_is_refused_with_what_would() -> None:
    require(True, "anything", "--degrees=220")
    with pytest.raises(ValueError, match="^received --degrees=-1: expected some heat$"):
        require(False, "some heat", "--degrees=-1")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("degrees", "--degrees=200"),
        ("is_open", "--is_open=true"),
        ("loaves", "--loaves=bun,rye"),
        ("timer", "--timer=None"),
    ],
)
def test_a_value_is_shown_as_the_user_types_it(name: str, text: str) -> None:
    assert as_flags(Oven("cellar", degrees=200, is_open=True, loaves=("bun", "rye")), name) == text


def test_several_values_are_shown_together() -> None:
    oven = Oven("cellar")
    assert as_flags(oven, "fuel", "share") == "--fuel=gas with --share=0.5"
    text = "--fuel=gas with --share=0.5 and --is_open=false"
    assert as_flags(oven, "fuel", "share", "is_open") == text


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "expected"),
    [
        ({"at_least": 0}, [0, 1], [-0.1], "at least 0"),
        ({"above": 0}, [0.1], [0, -1], "above 0"),
        ({"at_most": 1}, [1, -5], [1.1], "at most 1"),
        ({"below": 1}, [0.9], [1, 2], "below 1"),
        ({"at_least": 0, "below": 1}, [0, 0.9], [-0.1, 1], "at least 0 and below 1"),
        ({"at_least": 0}, [9], [math.nan, math.inf], "at least 0 and finite"),
        ({"above": 0}, [9], [math.nan, math.inf], "above 0 and finite"),
        ({"above": 0, "at_most": 1}, [0.1, 1], [0, 1.1], "above 0 and at most 1"),
    ],
)
def test_numbers_outside_their_range_are_refused(
    bounds: dict[str, Any], inside: list[float], outside: list[float], expected: str
) -> None:
    for value in inside:
        require_range(Oven("cellar", share=value), "degrees", at_least=0)
        require_range(Oven("cellar", share=value), "share", **bounds)
    for value in outside:
        with pytest.raises(ValueError, match=f"^received --share={value}: expected {expected}$"):
            require_range(Oven("cellar", share=value), "share", **bounds)


def test_every_field_that_is_named_is_checked() -> None:
    with pytest.raises(ValueError, match="received --degrees=-5"):
        require_range(Oven("cellar", degrees=-5), "share", "degrees", at_least=0)


def test_a_choice_that_the_type_does_not_list_is_refused() -> None:
    require_choice(Oven("cellar", fuel="wood"), "fuel")
    unknown: Any = "coal"
    with pytest.raises(ValueError, match="^received --fuel=coal: expected gas or wood$"):
        require_choice(Oven("cellar", fuel=unknown), "fuel")
