"""Variants change what they should on both sides, alike every time."""

import pytest

from pipeline.common.text_variants import VARIANTS, vary

PAIR = ("The old U.S. dog sleeps…", "Der alte US-Hund schläft!")


def test_each_variant_of_a_pair() -> None:
    varied = {name: vary(name, *PAIR) for name in VARIANTS}
    assert varied["upper case"] == ("THE OLD U.S. DOG SLEEPS…", "DER ALTE US-HUND SCHLÄFT!")
    assert varied["title case"] == ("The Old U.S. Dog Sleeps…", "Der Alte US-Hund Schläft!")
    assert varied["no end mark"] == ("The old U.S. dog sleeps", "Der alte US-Hund schläft")
    for name in ("emoji", "markup"):
        added = [
            [word for word in text.split() if word not in plain.split()]
            for text, plain in zip(varied[name], PAIR, strict=True)
        ]
        assert added[0] == added[1] and added[0], "the same on both sides"
        assert all(plain in text for text, plain in zip(varied[name], PAIR, strict=True))


@pytest.mark.parametrize("source", ["a garden", "Some words with letters", "noon Anna misspelling"])
def test_a_typo_exchanges_two_letters_of_one_word(source: str) -> None:
    varied = vary("typo", source, "ein Garten")
    changed = [
        (old, new)
        for old, new in zip(source.split(), varied.source.split(), strict=True)
        if old != new
    ]
    ((old, new),) = changed
    assert sorted(old) == sorted(new) and old[0] == new[0]
    assert sum(a != b for a, b in zip(old, new, strict=True)) == 2
    assert varied.target == "ein Garten"


def test_words_too_short_for_a_typo_stay() -> None:
    for source in ("The dog ran.", "aaaa bbb", "12345 x-ray"):
        assert vary("typo", source, "x").source == source


@pytest.mark.parametrize("name", VARIANTS)
def test_blank_sides_stay_and_variants_repeat(name: str) -> None:
    assert vary(name, "", "Ja.") == ("", "Ja.")
    assert vary(name, " ", "") == (" ", "")
    assert vary(name, *PAIR) == vary(name, *PAIR)
