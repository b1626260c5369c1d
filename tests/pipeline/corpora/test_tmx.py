import io
import tracemalloc

import pytest

from pipeline.common.errors import UserError
from pipeline.corpora.tmx import read_tmx

HEAD = '<?xml version="1.0"?><tmx version="1.4"{}><header/><body>'
TAIL = "</body></tmx>"


def unit(*variants: tuple[str, str]) -> str:
    inner = "".join(f"<tuv {lang}><prop>p</prop><seg>{text}</seg></tuv>" for lang, text in variants)
    return f"<tu><note>n</note>{inner}</tu>\n"


def read(*units: str, languages: tuple[str, str] = ("en", "de"), spaces: str = "") -> list:
    text = HEAD.format(spaces) + "".join(units) + TAIL
    return list(read_tmx(io.BytesIO(text.encode()), "x.tmx", languages))


def test_units_become_pairs_in_either_direction() -> None:
    units = unit(('xml:lang="de"', "Eins &amp; zwei"), ('xml:lang="en"', "one\n &amp;  two"))
    assert read(units) == [("one & two", "Eins & zwei")]
    assert read(units, languages=("de", "en")) == [("Eins & zwei", "one & two")]


@pytest.mark.parametrize("language", ['xml:lang="EN-gb"', 'lang="en"', 'xml:lang="en_US"'])
def test_regions_and_old_attributes_are_understood(language: str) -> None:
    assert read(unit((language, "one"), ('lang="DE"', "eins"))) == [("one", "eins")]


def test_markup_of_the_original_format_is_skipped() -> None:
    text = 'press <bpt i="1">{\\b <sub>x</sub></bpt><hi>the <it>y</it>key</hi><ept i="1">}</ept>!'
    units = unit(('xml:lang="en"', text), ('xml:lang="de"', "a<ph>z</ph>b"))
    assert read(units) == [("press the key!", "ab")]


def test_a_unit_without_a_language_has_an_empty_side() -> None:
    english = ('xml:lang="en"', "one")
    units = [unit(english, ('xml:lang="fr"', "un")), unit(english, ('xml:lang="de"', "eins"))]
    assert read(*units) == [("one", ""), ("one", "eins")]


def test_a_file_without_a_language_is_refused_with_its_languages() -> None:
    units = unit(('xml:lang="en"', "one"), ('xml:lang="fr-CA"', "un"))
    with pytest.raises(
        UserError, match=r"x\.tmx has no segment in de: it has en, fr; choose with --so"
    ):
        read(units)
    with pytest.raises(UserError, match="it has no text"):
        read()


def test_namespaces_are_ignored() -> None:
    units = unit(('xml:lang="en"', "one"), ('xml:lang="de"', "eins"))
    assert read(units, spaces=' xmlns="http://www.lisa.org/tmx14"') == [("one", "eins")]


def test_a_truncated_file_is_named_after_its_complete_pairs() -> None:
    units = unit(('xml:lang="en"', "one"), ('xml:lang="de"', "eins"))
    pairs = read_tmx(io.BytesIO((HEAD.format("") + units).encode()), "x.tmx", ("en", "de"))
    assert next(pairs) == ("one", "eins")
    with pytest.raises(UserError, match=r"x\.tmx is a broken TMX file \(.*\): fetch it again"):
        next(pairs)


def test_memory_does_not_grow_with_the_file() -> None:
    def peak(units: int) -> int:
        text = unit(('xml:lang="en"', "one" * 50), ('xml:lang="de"', "eins" * 50)) * units
        file = io.BytesIO((HEAD.format("") + text + TAIL).encode())
        tracemalloc.start()
        assert sum(1 for _ in read_tmx(file, "x.tmx", ("en", "de"))) == units
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(4000) < 1.5 * peak(1000)
