r"""Spans: consecutive lines of a text file as a byte range; how files are cut and decoded.

Lines end only at the byte 0x0A: `str.splitlines` would also split at U+0085 and U+2028 and shift
the alignment. Preprocessing and the translation of large files both use this module.
"""

import codecs
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

from pipeline.common import storage
from pipeline.common.errors import UserError


@dataclasses.dataclass(frozen=True)
class Span:
    """A byte range of a text file, and the user's file and line that it starts at."""

    path: str
    start: int  # bytes
    size: int  # bytes
    name: str  # the user's file, which may be compressed
    first_line: int  # counted from 1

    def read(self) -> bytes:
        """Returns the bytes."""
        return storage.read_range(self.path, self.start, self.size)


@dataclasses.dataclass(frozen=True)
class Chunk:
    """The content of a span: whole lines in UTF-8, with their line ends."""

    span: Span
    data: bytes
    lines: int


def cut_chunks(
    lines: Iterable[bytes], chunk_lines: int, *, path: str, name: str | None = None
) -> Iterator[Chunk]:
    """Yields a text as chunks of `chunk_lines` lines; the last one may have fewer.

    Args:
        lines: with their line ends, for example an open binary file.
        chunk_lines: lines of a chunk.
        path: the file that holds the lines, or will hold them.
        name: the file's name for the user, if not its path.
    """
    lines = iter(lines)
    start, first_line = 0, 1
    while batch := list(itertools.islice(lines, chunk_lines)):
        data = b"".join(batch)
        yield Chunk(Span(path, start, len(data), name or path, first_line), data, len(batch))
        start += len(data)
        first_line += len(batch)


def cut_aligned_chunks(
    texts: Sequence[Iterable[bytes]], chunk_lines: int, paths: Sequence[str]
) -> Iterator[tuple[Chunk, ...]]:
    """Yields the chunks of aligned texts side by side, reading no further than needed.

    Args:
        texts: lines with their line ends; lines with equal numbers belong together.
        chunk_lines: lines of a chunk.
        paths: the file of each text.

    Raises:
        UserError: a text has fewer lines; says which, and how many.
    """
    columns = [
        cut_chunks(text, chunk_lines, path=path) for text, path in zip(texts, paths, strict=True)
    ]
    before = 0
    for chunks in itertools.zip_longest(*columns):
        lengths = [chunk.lines if chunk else 0 for chunk in chunks]
        if min(lengths) < max(lengths):
            shorter, longer = (paths[lengths.index(end(lengths))] for end in (min, max))
            raise UserError(
                f"{shorter} ends after line {before + min(lengths)} and {longer} goes on: "
                "expected line n of one to belong to line n of the other"
            )
        yield chunks
        before += lengths[0]


def decode_lines(data: bytes, span: Span, *, remedy: str, strict: bool = True) -> list[str]:
    """Returns the lines of a span, without line ends and without a file's byte order mark.

    Args:
        data: the content of the span.
        span: where the data comes from.
        remedy: what a user can do about undecodable bytes.
        strict: refuse bytes that are not UTF-8; otherwise each becomes a lone surrogate (PEP 383).

    Raises:
        UserError: bytes that are not UTF-8, with file and line.
    """
    try:
        text = data.decode("utf-8", "strict" if strict else "surrogateescape")
    except UnicodeDecodeError as error:
        line = span.first_line + data.count(b"\n", 0, error.start)
        raise UserError(
            f"{span.name}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; {remedy}"
        ) from error
    if span.first_line == 1:
        text = text.removeprefix("\ufeff")
    return text.removesuffix("\n").split("\n")


def is_encoding(name: str) -> bool:
    """Returns whether Python knows an encoding of this name."""
    try:
        codecs.lookup(name)
    except LookupError:
        return False
    return True
