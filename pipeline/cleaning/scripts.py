"""Scripts of letters and languages, to detect text in the wrong alphabet."""

import functools
import unicodedata

import regex

_LATIN = frozenset({"Latin"})
# Values of the Unicode property Script (UAX #24), and the languages written in each.
_LANGUAGES = {
    "Arabic": "ar ckb fa ks ku ps sd ug ur",
    "Armenian": "hy",
    "Bengali": "as bn",
    "Canadian_Aboriginal": "cr iu oj",
    "Cyrillic": "ab av ba be bg ce cu cv kk kv ky mk mn os ru sr tg tt uk uz",
    "Devanagari": "bho hi ks mai mr ne pi sa sd",
    "Ethiopic": "am ti",
    "Georgian": "ka",
    "Greek": "el grc",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Han": "ja ko lzh yue zh",
    "Hangul": "ko",
    "Hebrew": "he yi",
    "Hiragana": "ja",
    "Kannada": "kn",
    "Katakana": "ja",
    "Khmer": "km",
    "Lao": "lo",
    "Latin": "cr iu kk ku oj pi sr uz",
    "Malayalam": "ml",
    "Myanmar": "my",
    "Oriya": "or",
    "Sinhala": "si",
    "Tamil": "ta",
    "Telugu": "te",
    "Thaana": "dv",
    "Thai": "th",
    "Tibetan": "bo dz",
    "Yi": "ii",
}
_LETTER = r"[\p{Lu}\p{Ll}\p{Lt}\p{Lo}]"  # not Lm: modifier letters have no single script
_LETTERS = regex.compile(_LETTER)


def scripts_of(language: str) -> frozenset[str]:
    """Returns the scripts of a language code such as "ja" or "pt-BR"; Latin if it is not listed."""
    primary = primary_code(language)
    scripts = {name for name, languages in _LANGUAGES.items() if primary in languages.split()}
    return frozenset(scripts) or _LATIN


def primary_code(language: str) -> str:
    """Returns a language code without script and region. Example: "pt" for "pt-BR"."""
    return language.lower().replace("_", "-").partition("-")[0]


def main_script(text: str) -> str:
    """Returns the script of most letters. Example: "Thai" for "สวัสดีชาวโลก, IBM"."""
    return max(_LANGUAGES, key=lambda name: script_share(text, frozenset({name})))


def script_share(text: str, scripts: frozenset[str]) -> float:
    """Returns the share of a text's letters that belong to `scripts`; 1 if it has no letters.

    Example: `script_share("Café в 9", frozenset({"Latin"}))` is 4 / 5.
    """
    if text.isascii() and scripts == _LATIN:
        return 1.0
    text = unicodedata.normalize("NFKC", text)  # "ﬁ", "Ａ" and "ª" are Latin
    letters = len(_LETTERS.findall(text))
    return len(_letters_of(scripts).findall(text)) / letters if letters else 1.0


@functools.cache
def _letters_of(scripts: frozenset[str]) -> "regex.Pattern[str]":
    """Returns a pattern of one letter of any of the scripts."""
    properties = "".join(rf"\p{{Script={name}}}" for name in sorted(scripts))
    return regex.compile(f"[{_LETTER}&&[{properties}]]", regex.VERSION1)
