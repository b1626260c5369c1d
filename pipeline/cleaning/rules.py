"""Cleaning rules that drop training pairs: each is a pure function, a flag and a counter.

By default only the usual rules are on (an empty side, a length ratio over 9, a length over
`--max_length`, overlap with dev and test), so nearly every pair is kept; `--dry_run` shows what the
others would drop. From dev and test, only pairs with an empty side are dropped.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

from pipeline.cleaning.language_id import (
    LEAST_LETTERS,
    LEAST_RATIO,
    check_languages,
    is_in_another_language,
    load_identifier,
)
from pipeline.cleaning.scripts import script_share, scripts_of
from pipeline.common.settings import as_flags, require, require_range, setting

# Counters of the data card.
UNDECODABLE = "undecodable"
EMPTY_SIDE = "empty_side"
LENGTH_RATIO = "length_ratio"
IDENTICAL_SIDES = "identical_sides"
CONTROL_CHARACTERS = "control_characters"
WRONG_SCRIPT = "wrong_script"
WRONG_LANGUAGE = "wrong_language"
DUPLICATE = "duplicate"
OVERLAP = "overlap_with_dev_or_test"
TOO_LONG = "too_long"

Rule = tuple[str, Callable[[str, str], bool]]  # counter; whether it drops (source, target)

# Usual limits of the rules whose flag is a number; 0 means off.
USUAL = {LENGTH_RATIO: 9.0, WRONG_SCRIPT: 0.5}

# Letters of scripts without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, kana and
# Chinese characters. Two letters count as a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# C0 controls that are not whitespace, C1 controls (often Windows-1252 read as Latin-1), and the
# replacement character of decoders.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\ufffd]")


@dataclasses.dataclass(frozen=True)
class CleaningConfig:
    """Rules that drop training pairs; `dataset.json` counts what each one dropped.

    Raises:
        ValueError: if a value is out of range.
    """

    drop_undecodable: bool = setting(
        False,
        "Drop pairs with bytes that are not UTF-8, instead of stopping at the first; in dev and "
        "test they always stop the run.",
    )
    max_length_ratio: float = setting(
        USUAL[LENGTH_RATIO],
        "Drop pairs with more than this many times as many words on one side as on the other; 0 "
        "keeps all.",
    )
    drop_identical_sides: bool = setting(
        False, "Drop pairs whose source and target are the same text."
    )
    drop_control_characters: bool = setting(
        False,
        "Drop pairs with a control character (other than ASCII whitespace) or U+FFFD, the signs "
        "of wrongly decoded text.",
    )
    min_script_share: float = setting(
        0.0,
        "Drop pairs with a side where less than this share (0 to 1) of the letters belong to its "
        "language's script; 0 keeps all.",
    )
    identify_languages: bool = setting(
        False,
        f"Drop pairs with a side that is {LEAST_RATIO} times as probable in another language as in "
        f"its own; sides with fewer than {LEAST_LETTERS} letters in words without a capital (such "
        "as names) are kept. Requires the library py3langid.",
    )
    drop_duplicates: bool = setting(
        False, "Drop pairs that are exact copies of an earlier pair of the corpus."
    )
    drop_overlap: bool = setting(True, "Drop pairs that also occur in the given dev or test files.")

    def __post_init__(self) -> None:
        require(
            self.max_length_ratio == 0 or self.max_length_ratio >= 1,
            "at least 1, the ratio of equally long sides, or 0 to keep all",
            as_flags(self, "max_length_ratio"),
        )
        require_range(self, "min_script_share", at_least=0, at_most=1)


@dataclasses.dataclass(frozen=True)
class PairRules:
    """The rules that depend only on the pair."""

    config: CleaningConfig
    source_language: str
    target_language: str

    def chosen(self, split: str) -> list[Rule]:
        """Returns the rules of a split, in order; the first that drops a pair counts it.

        Dev and test have one rule, so that scores remain comparable.
        """
        if split != "train":
            return [(EMPTY_SIDE, has_empty_side)]
        config = self.config
        is_on = {
            UNDECODABLE: config.drop_undecodable,
            EMPTY_SIDE: True,
            LENGTH_RATIO: config.max_length_ratio > 0,
            IDENTICAL_SIDES: config.drop_identical_sides,
            CONTROL_CHARACTERS: config.drop_control_characters,
            WRONG_SCRIPT: config.min_script_share > 0,
            WRONG_LANGUAGE: config.identify_languages,
        }
        return [(name, drops) for name, drops in self.all() if is_on[name]]

    def all(self) -> list[Rule]:
        """Returns every rule; those that are off have their usual limits.

        Language identification is slow and requires an optional library, so it is included only if
        it is on.
        """
        ratio = self.config.max_length_ratio or USUAL[LENGTH_RATIO]
        share = self.config.min_script_share or USUAL[WRONG_SCRIPT]
        scripts = scripts_of(self.source_language), scripts_of(self.target_language)
        rules: list[Rule] = [
            (UNDECODABLE, has_undecodable_bytes),
            (EMPTY_SIDE, has_empty_side),
            (LENGTH_RATIO, lambda *pair: length_ratio(*pair) > ratio),
            (IDENTICAL_SIDES, has_identical_sides),
            (CONTROL_CHARACTERS, has_control_characters),
            (WRONG_SCRIPT, lambda *pair: min(map(script_share, pair, scripts)) < share),
        ]
        return [*rules, self._language_rule()] if self.config.identify_languages else rules

    def _language_rule(self) -> Rule:
        languages = self.source_language, self.target_language
        identifier = load_identifier()
        check_languages(languages, identifier)
        return WRONG_LANGUAGE, lambda *pair: any(
            is_in_another_language(side, language, identifier)
            for side, language in zip(pair, languages, strict=True)
        )


def reason_to_drop(source: str, target: str, rules: Sequence[Rule]) -> str | None:
    """Returns the counter of the first rule that drops a normalized pair, or None to keep it."""
    for name, drops in rules:
        if drops(source, target):
            return name
    return None


def has_undecodable_bytes(source: str, target: str) -> bool:
    """Returns whether a side was read from bytes that are not UTF-8."""
    return bool(_SURROGATE.search(source) or _SURROGATE.search(target))


def has_empty_side(source: str, target: str) -> bool:
    """Returns whether a side has no text."""
    return not source or not target


def length_ratio(source: str, target: str) -> float:
    """Returns the words of the longer side over those of the shorter, both normalized.

    In scripts without spaces, two letters count as a word.
    """
    shorter, longer = sorted((_count_words(source), _count_words(target)))
    return longer / shorter


def has_identical_sides(source: str, target: str) -> bool:
    """Returns whether both sides are the same text."""
    return source == target


def has_control_characters(source: str, target: str) -> bool:
    """Returns whether a side has a control character or U+FFFD, the sign of failed decoding."""
    return bool(_CONTROL.search(source) or _CONTROL.search(target))


def _count_words(text: str) -> int:
    words = text.count(" ") + 1
    return words if text.isascii() else words + len(_UNSPACED.findall(text)) // 2
