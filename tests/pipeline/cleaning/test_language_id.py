"""When a sentence is thought to be in another language, with a stand-in and with the library."""

import importlib.util
import sys
from collections.abc import Sequence

import pytest

from pipeline.cleaning import language_id
from pipeline.cleaning.language_id import check_languages, is_in_another_language, load_identifier
from pipeline.cleaning.rules import CleaningConfig, PairRules, reason_to_drop
from pipeline.common.errors import UserError

LONG = "twelve letters and a few more of them"


class CountingWords:
    """Knows two languages: each German word says German twice as probably as English."""

    labels = ("en", "de")

    def __init__(self) -> None:
        self.seen: list[str] = []

    def rank(self, text: str) -> Sequence[tuple[str, float]]:
        self.seen.append(text)
        odds = 2.0 ** sum(word in ("der", "die", "das") for word in text.split())
        both = [("en", 1 / (1 + odds)), ("de", odds / (1 + odds))]
        return sorted(both, key=lambda item: -item[1])


@pytest.mark.parametrize(("german_words", "dropped"), [(0, False), (3, False), (4, True)])
def test_another_language_must_be_ten_times_as_probable(german_words: int, dropped: bool) -> None:
    text = LONG + " der" * german_words
    assert is_in_another_language(text, "en", CountingWords()) == dropped
    assert not is_in_another_language(text, "de", CountingWords())


def test_a_region_and_a_script_do_not_make_another_language() -> None:
    assert not is_in_another_language(LONG, "EN_gb", CountingWords())
    assert is_in_another_language(f"{LONG} der die das die", "EN_gb", CountingWords())
    check_languages(["en-GB", "de"], CountingWords())


@pytest.mark.parametrize(
    "text",
    [
        "der die das de",  # eleven letters
        "das der 1234567890 123456789 _____",
        "." * 20,
        "",
        "der Die DAS Ökonom (Berlin-Mitte), die Linke",
    ],
)
def test_text_of_few_letters_outside_names_is_not_judged(text: str) -> None:
    identifier = CountingWords()
    assert not is_in_another_language(text, "en", identifier)
    assert not identifier.seen


def test_letters_without_case_are_counted() -> None:
    identifier = CountingWords()
    is_in_another_language("今天早上狗把我的面包吃了", "en", identifier)
    assert identifier.seen


def test_an_unsupported_language_is_refused_by_name() -> None:
    expected = "does not support the language tlh: expected one of de en; leave the flag out"
    with pytest.raises(UserError, match=expected):
        check_languages(["de", "tlh"], CountingWords())


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.cleaning.rules.load_identifier", CountingWords)


GERMAN = "die Hunde und der Mann und das Kind und die Frau"


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (LONG, GERMAN, None),
        (GERMAN, GERMAN, "wrong_language"),
        (LONG, "the dogs", None),  # too short to judge
        (LONG, LONG, None),  # as probably German as English
    ],
)
def test_either_side_in_another_language_drops_the_pair(
    source: str, target: str, expected: str | None
) -> None:
    rules = PairRules(CleaningConfig(identify_languages=True), "en", "de")
    assert reason_to_drop(source, target, rules.chosen("train")) == expected
    assert reason_to_drop(source, target, rules.chosen("test")) is None
    off = PairRules(CleaningConfig(), "en", "de")
    assert reason_to_drop(source, target, off.chosen("train")) is None


@pytest.mark.usefixtures("stand_in")
def test_unknown_languages_are_refused_before_any_pair_is_read() -> None:
    rules = PairRules(CleaningConfig(identify_languages=True), "en", "tlh")
    with pytest.raises(UserError, match="does not support the language tlh"):
        rules.chosen("train")


def test_a_missing_library_is_reported_in_one_line_with_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    load_identifier.cache_clear()
    with pytest.raises(UserError, match=r"py3langid: pip install py3langid"):
        load_identifier()


@pytest.mark.skipif(
    importlib.util.find_spec("py3langid") is None, reason="needs the extra: py3langid"
)
def test_the_library_distinguishes_languages() -> None:
    load_identifier.cache_clear()
    identifier = load_identifier()
    check_languages(["en", "de", "fr", "cs", "ru", "zh"], identifier)
    sentences = {
        "en": "The old dog sleeps under the table in the kitchen.",
        "de": "Der alte Hund schläft unter dem Tisch in der Küche.",
        "fr": "Le vieux chien dort sous la table dans la cuisine.",
    }
    for language, sentence in sentences.items():
        for declared in sentences:
            is_another = language_id.is_in_another_language(sentence, declared, identifier)
            assert is_another == (language != declared), (language, declared)
