"""Scripts of letters and languages: enough of Unicode to notice text in the wrong alphabet.

The standard library knows no script property, but a letter's Unicode name begins with its script:
"CYRILLIC SMALL LETTER A", "HANGUL SYLLABLE GA", "CJK UNIFIED IDEOGRAPH-4E00".
"""

import collections
import functools
import unicodedata

_LATIN = frozenset({"LATIN"})
_SCRIPTS = {
    "ARABIC": "ar ckb fa ks ps sd ug ur",
    "ARMENIAN": "hy",
    "BENGALI": "as bn",
    "CJK": "ja ko lzh yue zh",
    "CYRILLIC": "be bg kk ky mk mn os ru sr tg tt uk",
    "DEVANAGARI": "bho hi mai mr ne sa",
    "ETHIOPIC": "am ti",
    "GEORGIAN": "ka",
    "GREEK": "el grc",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he yi",
    "HIRAGANA": "ja",
    "KANNADA": "kn",
    "KATAKANA": "ja",
    "KHMER": "km",
    "LAO": "lo",
    "LATIN": "sr",
    "MALAYALAM": "ml",
    "MYANMAR": "my",
    "ORIYA": "or",
    "SINHALA": "si",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
    "TIBETAN": "bo dz",
}
_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lo"})  # not Lm: modifiers belong to no one script


def scripts_of(language: str) -> frozenset[str]:
    """Returns the scripts of a language code such as "ja" or "pt-BR"; Latin if not listed here."""
    primary = primary_code(language)
    scripts = {name for name, languages in _SCRIPTS.items() if primary in languages.split()}
    return frozenset(scripts) or _LATIN


def primary_code(language: str) -> str:
    """Returns a language code without script and region. Example: "pt" of "pt-BR"."""
    return language.lower().replace("_", "-").partition("-")[0]


def script_share(text: str, scripts: frozenset[str]) -> float:
    """Returns the share of a text's letters that belong to `scripts`; 1 if it has no letters.

    Example: `script_share("Café в 9", frozenset({"LATIN"}))` is 4 / 5.
    """
    if text.isascii() and scripts == _LATIN:
        return 1.0
    letters = collections.Counter[bool]()
    for character, count in collections.Counter(text).items():
        script = _script_of(character)
        if script is not None:
            letters[script in scripts] += count
    return letters[True] / letters.total() if letters else 1.0


@functools.lru_cache(maxsize=1 << 16)
def _script_of(character: str) -> str | None:
    """Returns the first word of a letter's name; None for what is no letter."""
    plain = unicodedata.normalize("NFKC", character)[0]  # "ﬁ", "Ａ" and "ª" are Latin
    if unicodedata.category(plain) not in _LETTERS:
        return None
    return unicodedata.name(plain, "UNKNOWN").split(" ")[0]
