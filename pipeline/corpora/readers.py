r"""Readers of parallel text: formats with one side (lines, SGML) or both (tables, TMX).

| suffix | content | columns |
|---|---|---|
| .sgm, .sgml | one side of a WMT test set | |
| .tsv, .csv | both sides | numbers from 1, or names in the first row; default: 1 and 2 |
| .jsonl, .parquet | both sides | names; default: the language, as `en` or `translation.en` |
| .tmx | both sides | by language |
| any other | one side, one sentence per line | |

Users name an input by its address: `text.en`, `gs://bucket/text.en.xz`, or
`corpus.tgz::training/text.en.gz` for a member of a tar or zip archive.

Lines and rows end only at "\n": U+0085, U+2028 and lone "\r" are text.
"""

import contextlib
import csv
import dataclasses
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TextIO

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.archives import is_archive, open_member
from pipeline.corpora.compression import decompress, explain_broken, is_compressed
from pipeline.corpora.tmx import read_tmx
from pipeline.dataset.schema import Pair

MEMBER_MARK = "::"
_SGML = (".sgm", ".sgml")
_SEGMENT = re.compile(r"<seg[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
_TABLE_ROWS = 10_000  # of a parquet file, in memory at once


@dataclasses.dataclass(frozen=True)
class Columns:
    """Columns of the two sides in a file that holds both; a name may be a number from 1."""

    languages: tuple[str, str]  # source and target
    names: tuple[str | None, str | None] = (None, None)  # None: the default of the format

    def look_up(self, row: Mapping[str, Any], where: str) -> Pair:
        """Returns both sides of a row of named values; null is an empty side.

        Example: for languages `en` and `de` and no names, `{"en": "dog", "de": "Hund"}` and
        `{"translation": {"en": "dog", "de": "Hund"}}` both give `("dog", "Hund")`.

        Args:
            row: values by column.
            where: address and row number, for error messages.

        Raises:
            UserError: the row lacks a column, or a value is not text.
        """
        source, target = (
            _look_up(row, (name,) if name else (language, f"translation.{language}"), where)
            for name, language in zip(self.names, self.languages, strict=True)
        )
        return source, target

    def header_columns(self, address: str) -> tuple[str, str]:
        """Returns the columns of a table, names or numbers from 1; the default is 1 and 2.

        Raises:
            UserError: both are the same, or one is 0.
        """
        source, target = self.names[0] or "1", self.names[1] or "2"
        if source == target or "0" in (source, target):
            raise UserError(
                f"{address}: received columns {source} and {target} for source and target: "
                "expected two different ones, counted from 1"
            )
        return source, target


@contextlib.contextmanager
def open_bytes(address: str) -> Iterator[BinaryIO]:
    """Opens an address for reading, decompressed according to its suffix.

    Raises:
        UserError: the file does not exist, or is broken (also raised later, while reading).
    """
    path, mark, member = address.partition(MEMBER_MARK)
    if not storage.is_file(path):
        raise UserError(f"no file {path}: expected text, plain or compressed, or an archive")
    if is_archive(path) and not mark:
        raise UserError(f"{path} is an archive: name a file in it, {path}{MEMBER_MARK}folder/file")
    with explain_broken(path), contextlib.ExitStack() as stack:
        if mark:
            file = stack.enter_context(open_member(path, member))
        else:
            file = stack.enter_context(storage.open_file(path))
        yield stack.enter_context(decompress(file, address))


def format_suffix(address: str) -> str:
    """Returns the suffix without compression. Example: `a.tgz::b/c.tsv.gz` gives `.tsv`."""
    stem = os.path.splitext(address)[0] if is_compressed(address) else address
    return os.path.splitext(stem)[1].lower()


def is_plain_lines(address: str) -> bool:
    """Returns whether a file with one side is plain lines."""
    return format_suffix(address) not in _SGML


def read_side(address: str, encoding: str) -> Iterator[bytes]:
    r"""Yields the lines of one side in UTF-8, with their line ends.

    Raises:
        UserError: the file is missing, broken, holds both sides, or is not in this encoding.
    """
    if format_suffix(address) in _PAIR_READERS:
        raise UserError(f"{address} holds both sides: give it by --pair_files")
    with open_bytes(address) as file:
        if not is_plain_lines(address):
            with _decoded(file, address, encoding) as text:
                for segment in _SEGMENT.findall(text.read()):
                    yield f"{' '.join(segment.split())}\n".encode("utf-8", "surrogateescape")
        elif is_utf8(encoding):
            yield from file
        else:
            with _decoded(file, address, encoding) as text:
                for line in text:
                    yield line.encode()


@contextlib.contextmanager
def open_text(address: str, encoding: str) -> Iterator[TextIO]:
    """Opens an address as text, decompressed, without a byte order mark.

    Raises:
        UserError: the file is missing, broken, or not in this encoding.
    """
    with open_bytes(address) as file, _decoded(file, address, encoding) as text:
        yield text


def read_pair_file(address: str, columns: Columns, encoding: str) -> Iterator[Pair]:
    """Yields the pairs of a file with both sides.

    Raises:
        UserError: the file is missing, broken, in another format or encoding, or lacks a column.
    """
    suffix = format_suffix(address)
    if suffix not in _PAIR_READERS:
        raise UserError(
            f"{address}: received {suffix or 'no suffix'}, expected one of "
            f"{', '.join(_PAIR_READERS)}; one side alone goes to --source_files and --target_files"
        )
    with open_bytes(address) as file:
        yield from _PAIR_READERS[suffix](file, address, columns, encoding)


def is_utf8(encoding: str) -> bool:
    """Returns whether an encoding's name means UTF-8."""
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


@contextlib.contextmanager
def _decoded(file: BinaryIO, address: str, encoding: str) -> Iterator[TextIO]:
    """Opens a binary file as text, without its byte order mark.

    Undecodable bytes of UTF-8 become lone surrogates (PEP 383); a cleaning rule drops them.
    """
    name, errors = ("utf-8-sig", "surrogateescape") if is_utf8(encoding) else (encoding, "strict")
    try:
        with io.TextIOWrapper(file, name, errors, newline="\n") as text:
            yield text
    except UnicodeError as error:
        raise UserError(f"{address} is not in --encoding={encoding}: {error}") from error


def _read_tsv(file: BinaryIO, address: str, columns: Columns, encoding: str) -> Iterator[Pair]:
    with _decoded(file, address, encoding) as text:
        rows = (row.removesuffix("\n").removesuffix("\r").split("\t") for row in text)
        yield from _from_table(rows, address, columns)


def _read_csv(file: BinaryIO, address: str, columns: Columns, encoding: str) -> Iterator[Pair]:
    with _decoded(file, address, encoding) as text:
        rows = csv.reader(text, strict=True)
        try:
            yield from _from_table(rows, address, columns)
        except csv.Error as error:
            raise UserError(f"{address}, line {rows.line_num}: {error}; expected CSV") from error


def _from_table(rows: Iterable[list[str]], address: str, columns: Columns) -> Iterator[Pair]:
    """Yields the pairs of a table's rows; an empty row is a pair with two empty sides.

    Example: rows `["id", "en", "de"]`, `["7", "dog", "Hund"]` with the columns `("en", "de")` give
    `("dog", "Hund")`; with `("2", "3")` the first row is a pair too, `("en", "de")`.
    """
    names = columns.header_columns(address)
    numbered = enumerate(rows, 1)
    if all(name.isdecimal() for name in names):
        source, target = (int(name) - 1 for name in names)
    else:
        _, header = next(numbered, (1, []))
        source, target = (_find_column(name, header, address) for name in names)
    width = 1 + max(source, target)
    for number, row in numbered:
        if len(row) >= width:
            yield row[source], row[target]
        elif not any(row):
            yield "", ""
        else:
            raise UserError(
                f"{address}, row {number} has {len(row)} columns: expected {width}; "
                "--source_column and --target_column choose others"
            )


def _find_column(name: str, header: Sequence[str], address: str) -> int:
    if name not in header:
        raise UserError(f"{address} has no column {name}: it has {', '.join(header)}")
    return header.index(name)


def _read_jsonl(file: BinaryIO, address: str, columns: Columns, encoding: str) -> Iterator[Pair]:
    with _decoded(file, address, encoding) as text:
        for number, line in enumerate(text, 1):
            if not line.strip():
                continue
            where = f"{address}, line {number}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UserError(f"{where}: {error}; expected one JSON object per line") from error
            if not isinstance(row, dict):
                raise UserError(f"{where}: received {line[:40]!r}, expected a JSON object")
            yield columns.look_up(row, where)


def _read_parquet(file: BinaryIO, address: str, columns: Columns, encoding: str) -> Iterator[Pair]:
    import pyarrow
    from pyarrow import parquet

    del encoding  # text in Parquet is UTF-8
    content = file if file.seekable() else io.BytesIO(file.read())
    try:
        table = parquet.ParquetFile(content)
        for batch in table.iter_batches(_TABLE_ROWS):
            for row in batch.to_pylist():
                yield columns.look_up(row, address)
    except pyarrow.ArrowException as error:
        raise UserError(f"{address} is a broken parquet file ({error}): fetch it again") from error


def _read_tmx(file: BinaryIO, address: str, columns: Columns, encoding: str) -> Iterator[Pair]:
    del encoding  # XML declares its own
    return read_tmx(file, address, columns.languages)


def _look_up(row: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    """Returns the text of the first of these columns that the row has."""
    for name in names:
        value = _find_value(row, name)
        if value is None or isinstance(value, str):
            return value or ""
    raise UserError(
        f"{where} has no text at {' or '.join(names)}: it has {', '.join(row)}; "
        "choose with --source_column and --target_column"
    )


def _find_value(row: Mapping[str, Any], name: str) -> Any:
    """Returns the value of a column, or `_ABSENT`; `a.b` may be the value of `b` inside `a`."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        value = value.get(part, _ABSENT) if isinstance(value, Mapping) else _ABSENT
    return value


_ABSENT = object()
_PAIR_READERS: dict[str, Callable[[BinaryIO, str, Columns, str], Iterator[Pair]]] = {
    ".tsv": _read_tsv,
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".tmx": _read_tmx,
}
