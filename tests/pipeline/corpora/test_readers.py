import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from pipeline.common.errors import UserError
from pipeline.corpora.readers import Columns, read_pair_file, read_side

EN_DE = Columns(("en", "de"))
PAIRS = [("one\u0085", "eins\u2028"), ("", "zwei"), ('three "quoted"', "drei, vier")]


def named(source: str, target: str) -> Columns:
    return Columns(("en", "de"), (source, target))


def write(path: Path, text: str, encoding: str = "utf-8") -> str:
    path.write_bytes(text.encode(encoding))
    return str(path)


def pairs(address: str, columns: Columns = EN_DE, encoding: str = "utf-8") -> list[Any]:
    return list(read_pair_file(address, columns, encoding))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_tsv_rows_end_only_at_line_feeds(tmp_path: Path, end: str, start: str) -> None:
    rows = end.join("\t".join(pair) for pair in PAIRS)
    assert pairs(write(tmp_path / "x.tsv", f"{start}{rows}{end}")) == PAIRS


def test_quotes_are_text_in_tsv_and_not_in_csv(tmp_path: Path) -> None:
    assert pairs(write(tmp_path / "x.tsv", '"a\tb"\n')) == [('"a', 'b"')]
    assert pairs(write(tmp_path / "x.csv", '"a, ""b""\nc",d\r\n')) == [('a, "b"\nc', "d")]


@pytest.mark.parametrize(("suffix", "mark"), [(".tsv", "\t"), (".csv", ",")])
def test_columns_are_chosen_by_number_or_by_name(tmp_path: Path, suffix: str, mark: str) -> None:
    rows = ["number|deutsch|english", "1|eins|one"]
    text = "".join(f"{row}\n".replace("|", mark) for row in rows)
    address = write(tmp_path / f"x{suffix}", text)
    assert pairs(address, named("english", "deutsch")) == [("one", "eins")]
    assert pairs(address, named("3", "2")) == [("english", "deutsch"), ("one", "eins")]
    with pytest.raises(UserError, match="no column french: it has number, deutsch, english"):
        pairs(address, named("english", "french"))


def test_a_row_with_too_few_columns_is_reported_by_number(tmp_path: Path) -> None:
    address = write(tmp_path / "x.tsv", "one\teins\ntwo\n")
    with pytest.raises(UserError, match=r"x\.tsv, row 2 has 1 columns: expected 2"):
        pairs(address)


def test_an_empty_row_is_a_pair_with_empty_sides(tmp_path: Path) -> None:
    assert pairs(write(tmp_path / "x.tsv", "\none\teins\n")) == [("", ""), ("one", "eins")]
    assert pairs(write(tmp_path / "x.csv", "one,eins\n\n")) == [("one", "eins"), ("", "")]


def test_malformed_csv_is_reported_by_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"x\.csv, line 2: .* expected CSV"):
        pairs(write(tmp_path / "x.csv", 'a,b\n"c"d,e\n'))


ROWS: list[tuple[Columns, Callable[[str, str | None], dict[str, Any]]]] = [
    (EN_DE, lambda en, de: {"en": en, "de": de, "id": 1}),
    (EN_DE, lambda en, de: {"id": "x", "translation": {"de": de, "en": en}}),
    (named("English words", "t.x.y"), lambda en, de: {"English words": en, "t": {"x": {"y": de}}}),
    (named("a.b", "c"), lambda en, de: {"a.b": en, "c": de}),
]


@pytest.mark.parametrize(("columns", "row"), ROWS)
def test_jsonl_and_parquet_values_are_found_by_name(
    tmp_path: Path, columns: Columns, row: Callable[[str, str | None], dict[str, Any]]
) -> None:
    rows = [row(*pair) for pair in PAIRS] + [row("four", None)]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "x.parquet")
    expected = [*PAIRS, ("four", "")]
    assert pairs(write(tmp_path / "x.jsonl", f"{lines}\n"), columns) == expected
    assert pairs(str(tmp_path / "x.parquet"), columns) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"en": "a"}', r"line 2 has no text at de or translation\.de: it has en; choose"),
        ('{"en": "a", "de": 7}', r"line 2 has no text at de"),
        ('{"en": ', "line 2: .*expected one JSON object per line"),
        ("[1]", r"line 2: received '\[1\]\\n', expected a JSON object"),
    ],
)
def test_a_json_line_without_a_pair_is_reported_by_line(
    tmp_path: Path, line: str, message: str
) -> None:
    address = write(tmp_path / "x.jsonl", f'{{"en": "a", "de": "b"}}\n{line}\n')
    with pytest.raises(UserError, match=message):
        pairs(address)


def test_a_broken_parquet_file_is_named(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"en": ["a"], "de": ["b"]}), tmp_path / "x.parquet")
    whole = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(whole[:-9])
    with pytest.raises(UserError, match=r"x\.parquet is a broken parquet file"):
        pairs(str(tmp_path / "x.parquet"))


def test_the_segments_of_sgml_are_lines(tmp_path: Path) -> None:
    text = '<refset setid="x">\n<doc><hl>\n<SEG id="1">Eins\u2028 &amp;\n zwei</SEG>\n</hl>'
    text += '<p><seg id="2"> drei </seg><seg id="3"></seg></p></doc>\n'
    address = write(tmp_path / "x.de.sgm", text)
    expected = ["Eins &amp; zwei\n", "drei\n", "\n"]
    assert [line.decode() for line in read_side(address, "utf-8")] == expected


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le"])
def test_text_in_a_declared_encoding_becomes_utf8(tmp_path: Path, encoding: str) -> None:
    address = write(tmp_path / "x.de", "Fünf\r\nÄpfel \u00a0\nx", encoding)
    assert b"".join(read_side(address, encoding)) == "Fünf\r\nÄpfel \u00a0\nx".encode()
    table = write(tmp_path / "x.tsv", "five\tfünf\r\n", encoding)
    assert pairs(table, encoding=encoding) == [("five", "fünf")]


def test_a_next_line_character_stays_in_its_line(tmp_path: Path) -> None:
    address = write(tmp_path / "x.de", "a\u0085b\nc", "latin-1")
    assert list(read_side(address, "latin-1")) == ["a\u0085b\n".encode(), b"c"]


@pytest.mark.parametrize("encoding", ["utf-16", "ascii"])
def test_bytes_of_another_encoding_are_explained(tmp_path: Path, encoding: str) -> None:
    address = write(tmp_path / "x.tsv", "five\tfünf\n", "latin-1")
    with pytest.raises(UserError, match=rf"x\.tsv is not in --encoding={encoding}: "):
        pairs(address, encoding=encoding)
    with pytest.raises(UserError, match=rf"x\.de is not in --encoding={encoding}: "):
        list(read_side(write(tmp_path / "x.de", "fünf\n"), encoding))


@pytest.mark.parametrize("columns", [("0", "1"), ("2", None), ("1", "1"), (None, "1")])
def test_impossible_columns_are_refused(
    tmp_path: Path, columns: tuple[str | None, str | None]
) -> None:
    address = write(tmp_path / "x.tsv", "hello\thallo\n")
    with pytest.raises(UserError, match="expected two different ones, counted from 1"):
        pairs(address, Columns(("en", "de"), columns))


def test_undecodable_bytes_are_left_for_cleaning(tmp_path: Path) -> None:
    address = write(tmp_path / "x.tsv", "five\tfünf\n", "latin-1")
    assert pairs(address) == [("five", "f\udcfcnf")]
    segments = write(tmp_path / "x.sgm", "<seg>fünf</seg>", "latin-1")
    assert list(read_side(segments, "utf-8")) == [b"f\xfcnf\n"]


def test_files_given_to_the_wrong_flag_are_explained(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"x\.tsv\.gz holds both sides: give it by --pair_files"):
        list(read_side("x.tsv.gz", "utf-8"))
    with pytest.raises(UserError, match=r"x\.en: received \.en, expected one of \.tsv.*--source"):
        pairs(write(tmp_path / "x.en", "one\n"))
