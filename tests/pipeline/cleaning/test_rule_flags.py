import pytest

from pipeline.cleaning.rule_flags import FLAGS, explain_no_pairs
from pipeline.config import PreprocessConfig


def test_the_message_names_the_rules_that_dropped_pairs_the_worst_first() -> None:
    counts = {"read": 1009, "kept": 0, "empty_side": 2, "too_long": 7, "length_ratio": 1000}
    counts["duplicate"] = 0
    assert explain_no_pairs(counts) == (
        "no pair is left to train on: of 1,009 read, length_ratio drops 1,000 "
        "(--max_length_ratio), too_long drops 7 (--max_length), empty_side drops 2; change these "
        "flags or the corpus; --dry_run shows examples"
    )


@pytest.mark.parametrize("flag", FLAGS.values())
def test_every_rule_has_a_flag_that_exists(flag: str) -> None:
    assert flag in PreprocessConfig().content()
