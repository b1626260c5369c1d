"""Where pairs come from: the built-in corpus, or aligned text files, cut into blocks of lines.

A block is some thousands of consecutive aligned lines, the unit of work of every later stage.
Plain files are not copied: a block is a byte range of each side. What cannot be sought in (gzip,
the built-in generator) is cut once into files of its own. Lines end at the byte 0x0A alone: text
mode would also split at U+0085 and its like, and shift the alignment.
"""

import dataclasses
import gzip
import hashlib
import itertools
import os
import zlib
from collections.abc import Iterator, Sequence

from pipeline.errors import UserError
from pipeline.schema import Corpus, write_atomically


@dataclasses.dataclass(frozen=True)
class Span:
    """A byte range of one side's text, and where a user would find its first line."""

    path: str
    start: int  # bytes
    size: int  # bytes
    name: str  # the user's own file, which may be a .gz
    first_line: int  # counted from 1


@dataclasses.dataclass(frozen=True)
class Block:
    """Aligned lines of both sides: the unit of work."""

    split: str
    index: int  # within the split
    lines: int
    source: Span
    target: Span

    @property
    def name(self) -> str:
        """Returns the name of the files which stages write about this block."""
        return f"{self.split}-{self.index:05d}"


@dataclasses.dataclass(frozen=True)
class Text:
    """One side of one input: a file, or lines made by the built-in generator."""

    name: str
    lines: tuple[str, ...] | None = None

    def read(self) -> Iterator[bytes]:
        """Yields the lines with their line ends.

        Raises:
          UserError: the file is missing, or broken.
        """
        if self.lines is not None:
            yield from (line.encode() + b"\n" for line in self.lines)
            return
        if not os.path.isfile(self.name):
            raise UserError(f"no file {self.name}: expected aligned text, plain or .gz")
        try:
            with gzip.open(self.name) if self._is_compressed else open(self.name, "rb") as file:
                yield from file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UserError(
                f"{self.name} is a broken gzip file ({error}): fetch it again"
            ) from error

    @property
    def is_seekable(self) -> bool:
        """Returns whether a block can be a byte range of the file itself."""
        return self.lines is None and not self._is_compressed

    @property
    def _is_compressed(self) -> bool:
        return self.name.endswith(".gz")


def file_texts(source_files: Sequence[str], target_files: Sequence[str]) -> list[tuple[Text, Text]]:
    """Returns the inputs in files: the first source file is aligned with the first target file.

    Raises:
      UserError: unequal numbers of files.
    """
    if len(source_files) != len(target_files):
        raise UserError(
            f"received {len(source_files)} source and {len(target_files)} target files: "
            "expected one target file for each source file, in the same order"
        )
    return [(Text(s), Text(t)) for s, t in zip(source_files, target_files, strict=True)]


def builtin_texts(split: str) -> list[tuple[Text, Text]]:
    """Returns the built-in corpus of one split as an input."""
    from pipeline.builtin import generate_pairs

    sources, targets = zip(*generate_pairs(split), strict=True)
    return [(Text(f"builtin {split} source", sources), Text(f"builtin {split} target", targets))]


def cut_blocks(
    split: str, texts: Sequence[tuple[Text, Text]], block_lines: int, folder: str
) -> tuple[list[Block], list[Corpus]]:
    """Cuts aligned texts into blocks of `block_lines` lines; a block never spans two files.

    Args:
      split: train, dev or test.
      texts: (source, target) inputs, concatenated in order.
      block_lines: lines of a block; the last one of each file may have fewer.
      folder: where the pieces of unseekable texts go.

    Raises:
      UserError: a file is missing, broken or empty, or the sides have unequal numbers of lines.
    """
    blocks: list[Block] = []
    corpora = []
    for source, target in texts:
        digest = hashlib.sha256()
        sides = [
            _cut_text(text, block_lines, f"{folder}/{split}-{len(blocks):05d}-{side}", digest)
            for text, side in ((source, "source"), (target, "target"))
        ]
        lines = [sum(count for count, _ in side) for side in sides]
        _check_lines(source.name, target.name, lines)
        for (count, source_span), (_, target_span) in zip(*sides, strict=True):
            blocks.append(Block(split, len(blocks), count, source_span, target_span))
        name = f"{source.name} + {target.name}"
        corpora.append(Corpus(split, name, digest.hexdigest(), lines[0]))
    return blocks, corpora


def read_span(span: Span) -> list[str]:
    """Returns a span's lines, decoded, without line ends (LF or CRLF) or byte order mark.

    Raises:
      UserError: bytes which are no UTF-8, with file and line.
    """
    with open(span.path, "rb") as file:
        file.seek(span.start)
        data = file.read(span.size)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = span.first_line + data.count(b"\n", 0, error.start)
        raise UserError(
            f"{span.name}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; "
            f"convert the file first: iconv -f latin1 -t utf-8 {span.name}"
        ) from error
    if span.first_line == 1:
        text = text.removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _cut_text(
    text: Text, block_lines: int, prefix: str, digest: "hashlib._Hash"
) -> list[tuple[int, Span]]:
    """Returns (lines, span) of each block of one side, and feeds its bytes to the digest."""
    spans, start, first_line = [], 0, 1
    for number, lines in enumerate(_batches(text, block_lines)):
        data = b"".join(lines)
        digest.update(data)
        if text.is_seekable:
            span = Span(text.name, start, len(data), text.name, first_line)
        else:
            span = Span(f"{prefix}-{number:05d}.txt", 0, len(data), text.name, first_line)
            write_atomically(span.path, data)
        spans.append((len(lines), span))
        start += len(data)
        first_line += len(lines)
    return spans


def _batches(text: Text, block_lines: int) -> Iterator[list[bytes]]:
    lines = text.read()
    while batch := list(itertools.islice(lines, block_lines)):
        yield batch


def _check_lines(source: str, target: str, lines: Sequence[int]) -> None:
    if lines[0] != lines[1]:
        raise UserError(
            f"{source} has {lines[0]} lines but {target} has {lines[1]}: "
            "expected line n of one to be the translation of line n of the other"
        )
    if not lines[0]:
        raise UserError(f"{source} and {target} are empty: expected at least one pair")
