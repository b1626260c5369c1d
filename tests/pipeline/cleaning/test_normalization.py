import unicodedata

import pytest

from pipeline.cleaning import normalization


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  Zwei \t\v Hunde\f\r", "Zwei Hunde"),
        ("line\nfeed", "line feed"),
        (unicodedata.normalize("NFD", "Tür"), "Tür"),
        ("a\u00a0b\u0085c\u2028d \u3000e\x1cf", "a\u00a0b\u0085c\u2028d \u3000e\x1cf"),
        ("\u2581a b\u2581c", "_a b_c"),
        (" \t ", ""),
        ("", ""),
        ("👩‍👩‍👧 ﬁ", "👩‍👩‍👧 ﬁ"),
    ],
)
def test_normal_form_is_nfc_with_single_spaces(line: str, expected: str) -> None:
    assert normalization.normalize(line) == expected
    assert normalization.normalize(expected) == expected


def test_keys_are_the_same_on_every_machine() -> None:
    # Computed once with Python 3.11's hashlib; shards' order and held-out pairs rest on them.
    assert normalization.sentence_key("Zwei Hunde").hex() == "1bbe1d71c6171620"
    assert normalization.pair_key("Two dogs", "Zwei Hunde").hex() == "121670b6db4332cf"
    assert normalization.pair_key("a b", "c") != normalization.pair_key("a", "b c")


def test_lines_that_the_normal_form_changes_are_counted() -> None:
    lines = ["Tür", unicodedata.normalize("NFD", "Tür"), "tea", "\u212bngstr\u00f6m", ""]
    assert normalization.count_recomposed(lines) == 2
