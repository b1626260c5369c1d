"""Blocks: thousands of consecutive aligned lines, the unit of work of every later stage.

Plain UTF-8 files are not copied: a block is a byte range of each side. Inputs that are not
seekable (compressed files, tables, the built-in generator), and local files if the dataset goes to
an object store, are first cut into UTF-8 files, one per block and side.
"""

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from absl import logging

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.corpora.inputs import AlignedTexts, Input, PairTable, Text
from pipeline.corpora.spans import Span, cut_chunks, decode_lines
from pipeline.dataset.schema import Corpus

_Item = TypeVar("_Item")


class _Digest(Protocol):
    """An incremental checksum, such as `hashlib.sha256()`."""

    def update(self, data: bytes, /) -> None:
        """Adds bytes."""


_UNDECODABLE_REMEDY = (
    "if the whole text is in another encoding, name it, such as --encoding=latin-1; "
    "--drop_undecodable drops such pairs of train"
)
_HALF_CHARACTER = re.compile(
    "[\ud800-\udc7f\udd00-\udfff]"
)  # other lone surrogates are bytes: PEP 383


@dataclasses.dataclass(frozen=True)
class Block:
    """Aligned lines of both sides: the unit of work."""

    split: str
    index: int  # within the split
    lines: int
    source: Span
    target: Span
    siblings: int = 1  # blocks of the split, this one included

    @property
    def name(self) -> str:
        """Returns the stem of the files that stages write for this block."""
        return block_name(self.split, self.index)

    @property
    def place(self) -> str:
        """Returns the block's number among those of the split. Example: `00012-of-00225`."""
        return f"{self.index:05d}-of-{self.siblings:05d}"


def block_name(split: str, index: int) -> str:
    """Returns the name of a split's block. Example: `train-00012`."""
    return f"{split}-{index:05d}"


@dataclasses.dataclass(frozen=True)
class CutInput:
    """An input as blocks, numbered within the input.

    corpus: the input's identity.
    remark: what the user should know about it, or "".
    """

    corpus: Corpus
    blocks: tuple[Block, ...]
    remark: str = ""


_Cut = tuple[int, Span, Span]  # lines, source, target


def cut_blocks(
    split: str, inputs: Sequence[Input], block_lines: int, folder: str
) -> tuple[list[Block], list[Corpus]]:
    """Cuts inputs into blocks of `block_lines` aligned lines; a block never spans two inputs.

    Args:
        split: train, dev or test.
        inputs: inputs of the split, in corpus order.
        block_lines: lines of a block; the last one of each input may have fewer.
        folder: folder for the blocks of inputs that are not seekable.

    Raises:
        UserError: a file is missing, broken or empty, or the sides have unequal numbers of lines.
    """
    blocks: list[Block] = []
    corpora = []
    for number, parallel_text in enumerate(inputs):
        cut = cut_input(split, number, parallel_text, block_lines, folder)
        if cut.remark:
            logging.warning("%s", cut.remark)
        for block in cut.blocks:
            blocks.append(dataclasses.replace(block, index=len(blocks)))
        corpora.append(cut.corpus)
    return blocks, corpora


def cut_input(
    split: str, number: int, parallel_text: Input, block_lines: int, folder: str
) -> CutInput:
    """Cuts one input into blocks; `number` is its place among the inputs of the split.

    One side is read after the other, since the checksum is that of source and target in sequence.

    Raises:
        UserError: as `cut_blocks`.
    """
    digest = hashlib.sha256()
    prefix = f"{folder}/{split}-{number:05d}"
    if isinstance(parallel_text, AlignedTexts):
        cut = _cut_texts(parallel_text, block_lines, prefix, digest)
    else:
        cut = _cut_table(parallel_text, block_lines, prefix, digest)
    blocks = [Block(split, index, *lines_and_spans) for index, lines_and_spans in enumerate(cut)]
    pairs = sum(lines for lines, _, _ in cut)
    corpus = Corpus(split, parallel_text.name, digest.hexdigest(), pairs)
    return CutInput(corpus, tuple(blocks), _remark(parallel_text, pairs))


def _remark(parallel_text: Input, pairs: int) -> str:
    """Returns a warning if an input has another number of pairs than published, else ""."""
    expected = parallel_text.expected_pairs if isinstance(parallel_text, AlignedTexts) else None
    if expected in (None, pairs):
        return ""
    return f"{parallel_text.name} has {pairs} pairs, expected {expected} as published"


def read_span(span: Span, *, strict: bool = True) -> list[str]:
    """Returns a span's lines, decoded, without line ends (LF or CRLF) or byte order mark.

    Args:
        span: what to read.
        strict: refuse bytes that are not UTF-8; otherwise each becomes a lone surrogate (PEP 383).

    Raises:
        UserError: bytes that are not UTF-8, with file and line.
    """
    lines = decode_lines(span.read(), span, remedy=_UNDECODABLE_REMEDY, strict=strict)
    return [line.removesuffix("\r") for line in lines]


def _cut_texts(texts: AlignedTexts, block_lines: int, prefix: str, digest: _Digest) -> list[_Cut]:
    """Returns the blocks of aligned texts, and feeds the bytes of both to the digest."""
    sides = [
        _cut_text(text, block_lines, f"{prefix}-{side}", digest)
        for text, side in ((texts.source, "source"), (texts.target, "target"))
    ]
    source_lines, target_lines = (sum(count for count, _ in side) for side in sides)
    if source_lines != target_lines:
        raise UserError(
            f"{texts.source.name} has {source_lines} lines but {texts.target.name} has "
            f"{target_lines}: expected line n of one to be the translation of line n of the other"
        )
    if not source_lines:
        names = f"{texts.source.name} and {texts.target.name}"
        raise UserError(f"{names} are empty: expected at least one pair")
    return [(count, source, target) for (count, source), (_, target) in zip(*sides, strict=True)]


def _cut_text(text: Text, block_lines: int, prefix: str, digest: _Digest) -> list[tuple[int, Span]]:
    """Returns (lines, span) of each block of one side."""
    # Workers that write to an object store may not see this machine's files.
    in_reach = storage.is_url(text.address) or not storage.is_url(prefix)
    is_cut_in_place = text.is_seekable and in_reach
    spans = []
    chunks = cut_chunks(text.read(), block_lines, path=text.address, name=text.name)
    for number, chunk in enumerate(chunks):
        digest.update(chunk.data)
        span = chunk.span
        if not is_cut_in_place:
            path = f"{prefix}-{number:05d}.txt"
            span = _write_span(path, chunk.data, text.name, span.first_line)
        spans.append((chunk.lines, span))
    if sum(count for count, _ in spans) == 1:
        _refuse_carriage_returns(chunk.data, text.name)
    return spans


def _refuse_carriage_returns(line: bytes, name: str) -> None:
    """Raises UserError if a text's only line has carriage returns inside: old Mac line ends."""
    lines = line.rstrip(b"\r\n").count(b"\r") + 1
    if lines > 1:
        raise UserError(
            f"{name} has one line of {len(line):,} bytes with carriage returns only, {lines:,} old "
            r"Mac lines: expected line feeds; convert it, such as with tr '\r' '\n' < FILE"
        )


def _cut_table(table: PairTable, block_lines: int, prefix: str, digest: _Digest) -> list[_Cut]:
    """Returns the blocks of a table of pairs, and feeds its pairs to the digest."""
    cut, first_row = [], 1
    for number, pairs in enumerate(_batches(table.read(), block_lines)):
        spans = []
        for side, cells in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
            # A line end inside a cell would shift the alignment.
            data = _encode("".join(f"{cell.replace(chr(10), ' ')}\n" for cell in cells))
            spans.append(
                _write_span(f"{prefix}-{side}-{number:05d}.txt", data, table.name, first_row)
            )
        digest.update(_encode("".join(f"{s}\t{t}\n" for s, t in pairs)))
        cut.append((len(pairs), spans[0], spans[1]))
        first_row += len(pairs)
    if not cut:
        raise UserError(f"{table.name} is empty: expected at least one pair")
    if first_row == 2:
        _refuse_carriage_returns(data, table.name)
    return cut


def _encode(text: str) -> bytes:
    """Returns UTF-8; undecodable bytes are restored, unpaired surrogates of JSON become "?"."""
    return _HALF_CHARACTER.sub("?", text).encode("utf-8", "surrogateescape")


def _write_span(path: str, data: bytes, name: str, first_line: int) -> Span:
    write_atomically(path, data)
    return Span(path, 0, len(data), name, first_line)


def _batches(items: Iterator[_Item], size: int) -> Iterator[list[_Item]]:
    while batch := list(itertools.islice(items, size)):
        yield batch
