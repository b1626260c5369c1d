"""Inputs: aligned texts, one per side, and tables with both sides."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.compression import is_compressed
from pipeline.corpora.readers import (
    MEMBER_MARK,
    Columns,
    is_plain_lines,
    is_utf8,
    read_pair_file,
    read_side,
)
from pipeline.dataset.schema import Pair

BUILTIN_NAME = "builtin"  # of the built-in corpus
BUILTIN_LANGUAGES = ("en", "de")


@dataclasses.dataclass(frozen=True)
class Text:
    """One side of an input: a file, or lines from the built-in generator.

    `name` is its name for users and in the data card; `path` is its address, if different.
    """

    name: str
    lines: tuple[str, ...] | None = None
    path: str = ""
    encoding: str = "utf-8"

    def read(self) -> Iterator[bytes]:
        """Yields the lines in UTF-8, with their line ends.

        Raises:
            UserError: the file is missing, broken, or in another encoding.
        """
        if self.lines is not None:
            return (line.encode() + b"\n" for line in self.lines)
        return read_side(self.address, self.encoding)

    @property
    def address(self) -> str:
        """Returns the address of the file."""
        return self.path or self.name

    @property
    def is_seekable(self) -> bool:
        """Returns whether a block can be a byte range of the file itself."""
        return (
            self.lines is None
            and MEMBER_MARK not in self.address
            and not is_compressed(self.address)
            and is_plain_lines(self.address)
            and is_utf8(self.encoding)
        )


@dataclasses.dataclass(frozen=True)
class AlignedTexts:
    """Two texts: line n of one is the translation of line n of the other."""

    source: Text
    target: Text
    expected_pairs: int | None = None  # as published

    @property
    def name(self) -> str:
        """Returns the input's name in the data card."""
        return f"{self.source.name} + {self.target.name}"

    @property
    def addresses(self) -> tuple[str, ...]:
        """Returns the addresses of its files; none of lines in memory."""
        texts = (self.source, self.target)
        return tuple(text.address for text in texts if text.lines is None)

    def read_start(self, pairs: int) -> list[Pair]:
        """Returns the first pairs, undecodable bytes dropped."""
        sides = (itertools.islice(text.read(), pairs) for text in (self.source, self.target))
        return [
            (source.decode(errors="ignore"), target.decode(errors="ignore"))
            for source, target in zip(*sides, strict=False)
        ]


@dataclasses.dataclass(frozen=True)
class PairTable:
    """An input whose rows hold both sides of a pair; `addresses` are those of its files."""

    name: str
    read: Callable[[], Iterator[Pair]]
    addresses: tuple[str, ...] = ()

    def read_start(self, pairs: int) -> list[Pair]:
        """Returns the first pairs."""
        return list(itertools.islice(self.read(), pairs))


Input = AlignedTexts | PairTable


def must_be_cut_here(parallel_text: Input, folder: str) -> bool:
    """Returns whether only this process can read an input whose blocks go to `folder`.

    So it is with lines in memory and with data sets of other libraries. Workers that write to an
    object store may run on other machines, so local files count too.
    """
    local = [address for address in parallel_text.addresses if not storage.is_url(address)]
    return not parallel_text.addresses or bool(local and storage.is_url(folder))


def file_texts(
    source_files: Sequence[str],
    target_files: Sequence[str],
    encodings: tuple[str, str] = ("utf-8", "utf-8"),
) -> list[AlignedTexts]:
    """Returns aligned files as inputs, the first source file with the first target file.

    Args:
        source_files: addresses of the source side.
        target_files: addresses of the target side.
        encodings: encodings of the source files and of the target files.

    Raises:
        UserError: unequal numbers of files.
    """
    if len(source_files) != len(target_files):
        raise UserError(
            f"received {len(source_files)} source and {len(target_files)} target files: "
            "expected one target file for each source file, in the same order"
        )
    source_encoding, target_encoding = encodings
    return [
        AlignedTexts(Text(source, encoding=source_encoding), Text(target, encoding=target_encoding))
        for source, target in zip(source_files, target_files, strict=True)
    ]


def table_files(files: Sequence[str], columns: Columns, encoding: str) -> list[PairTable]:
    """Returns files with both sides as inputs."""
    return [
        # A partial function, unlike a local one, can be sent to another process.
        PairTable(
            address, functools.partial(read_pair_file, address, columns, encoding), (address,)
        )
        for address in files
    ]


def builtin_texts(split: str, languages: tuple[str, str] = BUILTIN_LANGUAGES) -> list[AlignedTexts]:
    """Returns one split of the built-in corpus as an input.

    Raises:
        UserError: it is not in these languages.
    """
    from pipeline.corpora.builtin import generate_pairs

    if languages != BUILTIN_LANGUAGES:
        raise UserError(
            f"the built-in corpus is in {' and '.join(BUILTIN_LANGUAGES)}: received the languages "
            f"{' and '.join(languages)}; expected --source_files and --target_files for others"
        )
    sources, targets = zip(*generate_pairs(split), strict=True)
    source = Text(f"builtin {split} source", sources)
    return [AlignedTexts(source, Text(f"builtin {split} target", targets))]
