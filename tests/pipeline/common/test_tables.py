import pytest

from pipeline.common.tables import escape, format_table


def test_text_is_aligned_to_the_left_and_numbers_to_the_right() -> None:
    assert format_table([["a", "12"], ["long", "3"]]) == ["a     12", "long   3"]


def test_several_columns_may_be_text() -> None:
    rows = [["a", "bcd", "1"], ["ef", "g", "23"]]
    assert format_table(rows, text_columns=2) == ["a   bcd   1", "ef  g    23"]


def test_lines_end_without_spaces() -> None:
    assert format_table([["a", "b"], ["c", ""]], text_columns=2) == ["a  b", "c"]


def test_a_table_without_rows_has_no_lines() -> None:
    assert format_table([]) == []


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        format_table([["a", "b"], ["c"]])


def test_escaped_text_is_printable_ascii() -> None:
    assert escape("it's\a é\u2028") == r"it's\x07 \xe9\u2028"
