"""Variants of sentence pairs as users write them: other case, typos, no end mark, emoji, tags.

Each changes the source as a user might, and the target as its translation should then read. What is
random depends on the source alone, so a pair has the same variant everywhere.
"""

import random
import re
from collections.abc import Callable
from typing import NamedTuple

_EMOJI = "\U0001f600\U0001f44d\U0001f389\U0001f914\u2764"
_MARKUP = (("<b>", "</b>"), ("<i>", "</i>"), ("{1}", "{2}"))
_END_MARK = re.compile(r"\s*[.!?\u2026\u3002\uff01\uff1f]+$")
_SHORTEST_WITH_TYPO = 4  # letters


class TextPair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


def upper_case(pair: TextPair) -> TextPair:
    """Returns both sides in capitals."""
    return TextPair(pair.source.upper(), pair.target.upper())


def title_case(pair: TextPair) -> TextPair:
    """Returns both sides with a capital at the start of each word; other letters stay.

    Example: "the old U.S. dog" gives "The Old U.S. Dog".
    """
    return TextPair(*(" ".join(map(_capitalize, text.split(" "))) for text in pair))


def typo(pair: TextPair) -> TextPair:
    """Returns the source with two neighbouring letters of one word exchanged, the target as it is.

    Words of fewer than four letters are left alone, and so is the first letter of a word.
    """
    words = pair.source.split(" ")
    long = [
        place
        for place, word in enumerate(words)
        if word.isalpha() and len(word) >= _SHORTEST_WITH_TYPO and len({*word[1:]}) > 1
    ]
    if not long:
        return pair
    generator = random.Random(pair.source)
    place = generator.choice(long)
    word = words[place]
    swaps = [letter for letter in range(1, len(word) - 1) if word[letter] != word[letter + 1]]
    letter = generator.choice(swaps)
    words[place] = word[:letter] + word[letter + 1] + word[letter] + word[letter + 2 :]
    return TextPair(" ".join(words), pair.target)


def no_end_mark(pair: TextPair) -> TextPair:
    """Returns both sides without the marks that end a sentence."""
    return TextPair(*(_END_MARK.sub("", text) for text in pair))


def emoji(pair: TextPair) -> TextPair:
    """Returns both sides with the same emoji at the end, which is to be copied."""
    chosen = random.Random(pair.source).choice(_EMOJI)
    return TextPair(*(f"{text} {chosen}" for text in pair))


def markup(pair: TextPair) -> TextPair:
    """Returns both sides between the same tags, which are to be copied."""
    opening, closing = random.Random(pair.source).choice(_MARKUP)
    return TextPair(*(f"{opening} {text} {closing}" for text in pair))


VARIANTS: dict[str, Callable[[TextPair], TextPair]] = {
    "upper case": upper_case,
    "title case": title_case,
    "typo": typo,
    "no end mark": no_end_mark,
    "emoji": emoji,
    "markup": markup,
}


def vary(name: str, source: str, target: str) -> TextPair:
    """Returns the variant of a pair; a pair with an empty side stays as it is."""
    pair = TextPair(source, target)
    return VARIANTS[name](pair) if source.strip() and target.strip() else pair


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
