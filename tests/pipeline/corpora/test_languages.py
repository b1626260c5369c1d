import pytest

from pipeline.cleaning.scripts import scripts_of
from pipeline.corpora.languages import (
    NAMES,
    Languages,
    describe_language,
    find_languages,
    language_of_file,
)

NOWHERE: tuple[tuple[str, ...], tuple[str, ...]] = (("a.src",), ("a.tgt",))
UNSET = (None, None)


@pytest.mark.parametrize(
    ("address", "language"),
    [
        ("train.en", "en"),
        ("data/corpus.tok.FR.gz", "fr"),
        ("gs://bucket/news.de.txt.zst", "de"),
        ("dev.tgz::dev/newstest2014-deen-src.de.sgm", "de"),
        ("corpora/th", "th"),
        ("train.src", None),
        ("train.eng", None),
        ("train.txt", None),
        ("de-en.tgz::train.src", None),
    ],
)
def test_the_last_part_of_a_file_name_is_a_language(address: str, language: str | None) -> None:
    assert language_of_file(address) == language


def test_file_names_give_both_languages_or_none() -> None:
    known = "from the file names"
    files = ("a.fr", "b.fr.gz"), ("a.th", "b.th.gz")
    assert find_languages(UNSET, None, files) == Languages(("fr", "th"), known)
    for sources, targets in (
        (("a.fr", "b.it"), ("a.th", "b.th")),
        (("a.fr",), ("a.txt",)),
        (("x/a.fr",), ("y/a.fr",)),
    ):
        assert find_languages(UNSET, None, (sources, targets)).codes == ("en", "de")


def test_flags_win_over_file_names() -> None:
    files = ("a.fr",), ("a.th",)
    assert find_languages(("it", None), None, files) == Languages(
        ("it", "th"), "from the file names"
    )
    assert find_languages(("it", "es"), None, files) == Languages(("it", "es"))


def test_what_is_assumed_names_the_flags_to_give() -> None:
    both = "assumed: give --source_language, --target_language"
    assert find_languages(UNSET, None, NOWHERE) == Languages(("en", "de"), both)
    one = "assumed: give --source_language"
    assert find_languages((None, "fr"), None, NOWHERE) == Languages(("en", "fr"), one)


def test_a_named_data_set_knows_its_languages_in_the_direction_asked_for() -> None:
    for given in (UNSET, ("en", None), (None, "fr")):
        assert find_languages(given, ("en", "fr"), ((), ())) == Languages(("en", "fr"))
    for given in ((None, "en"), ("fr", None)):
        assert find_languages(given, ("en", "fr"), ((), ())) == Languages(("fr", "en"))


def test_codes_have_names() -> None:
    assert describe_language("de") == "German"
    assert describe_language("pt-BR") == "Portuguese (pt-BR)"
    assert describe_language("tlh") == "tlh"
    assert len(NAMES) == 183 and NAMES["gd"] == "Scottish Gaelic" and NAMES["zu"] == "Zulu"
    assert all(len(code) == 2 and name[0].isupper() for code, name in NAMES.items())


def test_languages_of_other_scripts_are_known_to_be() -> None:
    assert scripts_of("cv") == {"Cyrillic"} and scripts_of("uz") == {"Cyrillic", "Latin"}
