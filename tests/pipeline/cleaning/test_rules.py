from typing import Any

import pytest

from pipeline.cleaning.rules import CleaningConfig, PairRules, reason_to_drop


def reason(source: str, target: str, split: str = "train", **config: Any) -> str | None:
    rules = PairRules(CleaningConfig(**config), "en", "ru")
    return reason_to_drop(source, target, rules.chosen(split))


@pytest.mark.parametrize(
    ("source", "target", "config", "expected"),
    [
        ("caf\udce9", "кафе", {"drop_undecodable": True}, "undecodable"),
        ("café", "\udcff", {"drop_undecodable": True}, "undecodable"),
        ("café", "😀", {"drop_undecodable": True}, None),
        ("a", "", {}, "empty_side"),
        ("", "a", {}, "empty_side"),
        ("a b c", "d", {"max_length_ratio": 3.0}, None),
        ("a b c d", "d", {"max_length_ratio": 3.0}, "length_ratio"),
        ("d", "a b c d", {"max_length_ratio": 3.0}, "length_ratio"),
        ("d", "a " * 99, {"max_length_ratio": 0.0}, None),
        ("a b c d e f g h i j k l m n", "他们昨天在公园里和朋友们一起踢足球", {}, None),
        ("a", "他们昨天在公园里和朋友们一起踢足球", {}, None),
        ("a", "他们昨天在公园里和朋友们一起踢足球" * 2, {}, "length_ratio"),
        ("a " * 10 + "a", "é" * 20, {}, "length_ratio"),
        ("Omsk", "Omsk", {"drop_identical_sides": True}, "identical_sides"),
        ("Omsk", "omsk", {"drop_identical_sides": True}, None),
        ("caf\x82", "кафе", {"drop_control_characters": True}, "control_characters"),
        ("tea", "ча\ufffd", {"drop_control_characters": True}, "control_characters"),
        ("tea\u2028 \u00a0", "чай", {"drop_control_characters": True}, None),
        ("tea", "tea чай", {"min_script_share": 0.5}, None),
        ("tea", "teas чай", {"min_script_share": 0.5}, "wrong_script"),
        ("чай", "чай", {"min_script_share": 0.5}, "wrong_script"),
    ],
)
def test_each_rule_drops_by_its_name(
    source: str, target: str, config: dict[str, Any], expected: str | None
) -> None:
    assert reason(source, target, **config) == expected


STRICT: dict[str, Any] = {
    "drop_identical_sides": True,
    "drop_control_characters": True,
    "min_script_share": 1.0,
}


@pytest.mark.parametrize("pair", [("Omsk", "Omsk"), ("\x82", "\ufffd"), ("чай", "tea")])
def test_unusual_pairs_are_kept_unless_a_rule_is_on(pair: tuple[str, str]) -> None:
    assert reason(*pair) is None
    assert reason(*pair, **STRICT) is not None


def test_the_first_rule_counts_the_pair() -> None:
    assert reason("", "", **STRICT) == "empty_side"
    assert reason("Omsk\x82", "Omsk\x82", **STRICT) == "identical_sides"


@pytest.mark.parametrize("split", ["dev", "test"])
def test_dev_and_test_are_kept_so_that_scores_are_comparable(split: str) -> None:
    assert reason("a b c d e f g h i j k", "a", split, **STRICT) is None
    assert reason("", "a", split) == "empty_side"


def test_every_rule_can_be_tried_with_its_usual_limit() -> None:
    rules = PairRules(CleaningConfig(max_length_ratio=0.0), "en", "ru").all()
    drops = [name for name, drop in rules if drop("чай " * 10, "чай")]
    assert drops == ["length_ratio", "wrong_script"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"max_length_ratio": -1.0}, "received --max_length_ratio=-1.0: expected at least 1"),
        ({"max_length_ratio": 0.5}, "received --max_length_ratio=0.5: expected at least 1"),
        ({"min_script_share": 1.5}, "received --min_script_share=1.5: expected at least 0 and at"),
        (
            {"min_script_share": -0.5},
            "received --min_script_share=-0.5: expected at least 0 and at",
        ),
    ],
)
def test_impossible_numbers_are_refused_by_name(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CleaningConfig(**config)
