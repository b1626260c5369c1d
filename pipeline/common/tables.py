"""Tables as lines of text."""

from collections.abc import Sequence


def format_table(rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> list[str]:
    """Returns the rows as lines of aligned columns, two spaces apart.

    Args:
        rows: the cells of each row, equally many.
        text_columns: number of left-aligned columns; the others, of numbers, are right-aligned.

    Example:
        >>> format_table([["a", "12"], ["long", "3"]])
        ["a     12", "long   3"]
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_align(row, widths, text_columns)).rstrip() for row in rows]


def _align(row: Sequence[str], widths: Sequence[int], text_columns: int) -> list[str]:
    texts = zip(row[:text_columns], widths[:text_columns], strict=True)
    numbers = zip(row[text_columns:], widths[text_columns:], strict=True)
    return [
        *(cell.ljust(width) for cell, width in texts),
        *(cell.rjust(width) for cell, width in numbers),
    ]


def escape(text: str) -> str:
    r"""Returns text with all characters but printable ASCII as escape sequences.

    Example: U+0007 gives `\x07`.
    """
    return text.encode("unicode_escape").decode("ascii")
