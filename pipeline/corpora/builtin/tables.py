"""Reads a text file of named, tab-separated tables.

A line `[name]` opens a table; the line after it names the columns, optional ones with a final "?".
Cells are separated by one tab, "-" is a missing value, and optional cells at the end of a row may
be left out. Empty lines and lines that start with "#" are skipped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeVar

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Row:
    """One row of a table: cells by column, and the file and line they come from."""

    location: str
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        if column not in self.cells:
            _reject(self.location, f"no column {column!r}", f"one beside {', '.join(self.cells)}")
        return self.cells[column]

    def lookup(self, column: str, values: Mapping[str, _Value]) -> _Value:
        """Returns the value that the cell names.

        Raises:
            ValueError: The cell is none of the keys of `values`.
        """
        return self._lookup(column, self[column], values)

    def lookup_all(self, column: str, values: Mapping[str, _Value]) -> tuple[_Value, ...]:
        """Returns the values that the cell names, separated by ", ", in order."""
        return tuple(self._lookup(column, name, values) for name in self.split(column))

    def split(self, column: str) -> list[str]:
        """Returns the names in a cell, separated by ", "."""
        return self[column].split(", ") if self[column] else []

    def _lookup(self, column: str, name: str, values: Mapping[str, _Value]) -> _Value:
        if name not in values:
            names = ", ".join(key or "-" for key in values)
            _reject(self.location, f"{column} {name or '-'!r}", f"one of {names}")
        return values[name]


def read_tables(text: str, file_name: str) -> dict[str, list[Row]]:
    """Parses the tables of a file.

    Args:
        text: The content of the file.
        file_name: Its name, for error messages.

    Returns:
        The rows of each table, by the table's name, in order.

    Raises:
        ValueError: A line does not fit the format; the message names file and line.
    """
    tables: dict[str, list[Row]] = {}
    name = ""
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        location = f"{file_name}:{number}"
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            name, columns = line[1:-1], []
            if line != f"[{name}]" or not name or name in tables:
                _reject(location, repr(line), "[name], each name once")
            tables[name] = []
        elif not name:
            _reject(location, repr(line), "[name] before the first row")
        elif not columns:
            columns = line.split("\t")
        else:
            tables[name].append(Row(location, _parse_cells(line, columns, location)))
    return tables


def _parse_cells(line: str, columns: list[str], location: str) -> dict[str, str]:
    cells = line.split("\t")
    if len(cells) > len(columns):
        _reject(location, f"{len(cells)} cells", f"at most {len(columns)}: {', '.join(columns)}")
    if "" in cells:
        _reject(location, f"an empty cell in {line!r}", "one tab between cells, and - for no value")
    cells += ["-"] * (len(columns) - len(cells))
    for column, cell in zip(columns, cells, strict=True):
        if cell == "-" and not column.endswith("?"):
            _reject(location, f"no {column} in {line!r}", "one, or a column marked as optional (?)")
    return {
        column.removesuffix("?"): "" if cell == "-" else cell
        for column, cell in zip(columns, cells, strict=True)
    }


def _reject(location: str, received: str, expected: str) -> NoReturn:
    raise ValueError(f"{location}: received {received}; expected {expected}.")
