"""Flags of the cleaning rules, for messages about what the rules drop."""

from collections.abc import Mapping

from pipeline.cleaning import rules

HELD_OUT = "held_out"  # counter of the data card: pairs moved from train to dev and test
FLAGS = {
    rules.UNDECODABLE: "drop_undecodable",
    rules.LENGTH_RATIO: "max_length_ratio",
    rules.IDENTICAL_SIDES: "drop_identical_sides",
    rules.CONTROL_CHARACTERS: "drop_control_characters",
    rules.WRONG_SCRIPT: "min_script_share",
    rules.WRONG_LANGUAGE: "identify_languages",
    rules.DUPLICATE: "drop_duplicates",
    rules.OVERLAP: "drop_overlap",
    rules.TOO_LONG: "max_length",
    HELD_OUT: "holdout_pairs",
}


def explain_no_pairs(counts: Mapping[str, int]) -> str:
    """Returns the error message for training text of which no pair is left.

    Example: "no pair is left to train on: of 9 read, length_ratio drops 7 (--max_length_ratio), …"

    Args:
        counts: pairs read, kept (none), and dropped by each rule.
    """
    rules_and_pairs = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    drops = ", ".join(
        f"{rule} drops {pairs:,}" + (f" (--{FLAGS[rule]})" if rule in FLAGS else "")
        for rule, pairs in rules_and_pairs
        if pairs and rule not in ("read", "kept")
    )
    return (
        f"no pair is left to train on: of {counts['read']:,} read, {drops}; change these flags or "
        "the corpus; --dry_run shows examples"
    )
