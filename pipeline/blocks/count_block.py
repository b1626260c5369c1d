"""Word counts of training pairs: of groups of blocks, then of all blocks, a hash range at a time.

The different words of a large corpus fill gigabytes. A hash divides them into ranges, so counting
and merging hold those of one group of blocks or of one range.
"""

import collections
import dataclasses
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipeline.blocks.heldout_text import HeldoutText
from pipeline.blocks.pair_files import read_training_pairs
from pipeline.blocks.repeats import Repeats
from pipeline.blocks.slices import read_slices, write_slices
from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block, block_name
from pipeline.dataset.schema import SIDES
from pipeline.subwords.learning import most_frequent

MOST_RANGES = 64  # a power of 2: what the words of a group of blocks are divided into
_GROUPED_PAIRS = 320_000  # at most; fewer words together than in 16 blocks of 20,000
_LEAST_GROUPS = 64  # before blocks are grouped: tasks enough for that many workers
_GROUPS_PER_RANGE = 4


@dataclasses.dataclass(frozen=True)
class BlockGroup:
    """Consecutive blocks of the training text, counted together."""

    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        """Returns the name of the first block, which is that of the group."""
        return self.blocks[0].name


def group_size(blocks: int, block_lines: int) -> int:
    """Returns how many blocks of so many to count together."""
    return max(1, min(_GROUPED_PAIRS // block_lines, blocks // _LEAST_GROUPS))


@dataclasses.dataclass(frozen=True)
class CountReport:
    """Training pairs of a group of blocks; the counts are in files."""

    kept: int
    dropped: Mapping[str, int]  # pairs, by rule

    @property
    def counters(self) -> Mapping[str, int]:
        """Returns the pairs counted; what rules dropped is counted where pairs are encoded."""
        return {"counted": self.kept}

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "CountReport":
        """Returns the report that `to_json` gave."""
        return cls(**values)


def add_reports(reports: Iterable[CountReport]) -> CountReport:
    """Returns the report about several groups together."""
    kept, dropped = 0, collections.Counter[str]()
    for report in reports:
        kept += report.kept
        dropped.update(report.dropped)
    return CountReport(kept, dict(dropped))


@dataclasses.dataclass(frozen=True)
class CountGroup:
    """From a group's clean pairs to the counts of its words, one file of slices per side."""

    pairs_folder: str
    folder: str

    def __call__(
        self, group: BlockGroup, heldout: HeldoutText, repeats: Repeats | None = None
    ) -> CountReport:
        """Processes one group of blocks."""
        counts = {side: collections.Counter[str]() for side in SIDES}
        kept, all_dropped = 0, collections.Counter[str]()
        for block in group.blocks:
            pairs, dropped = read_training_pairs(self.pairs_folder, block, heldout.read(), repeats)
            kept += len(pairs)
            all_dropped.update(dropped)
            for index, side in enumerate(SIDES):
                counts[side].update(word for pair in pairs for word in pair[index].split(" "))
        for side in SIDES:
            write_slices(_counts_path(self.folder, group.name, side), _divide(counts[side]))
        return CountReport(kept, dict(all_dropped))


@dataclasses.dataclass(frozen=True)
class MergedCounts:
    """Words of the training pairs and their counts, on some sides together.

    One file for each range of the words' hashes.
    """

    folder: str
    sides: tuple[str, ...]
    blocks: int  # of the training text
    group_size: int  # blocks in a group
    learned_words: int | None = None  # keep only so many, the most frequent

    @property
    def ranges(self) -> int:
        """Returns into how many ranges the words are divided: a power of 2."""
        ranges = 1
        while ranges < MOST_RANGES and ranges * _GROUPS_PER_RANGE < len(self._groups()):
            ranges *= 2
        return ranges

    def merge(self, number: int) -> None:
        """Writes the counts of one range of all groups, unless an earlier run has."""
        if storage.is_file(self._path(number)):
            return
        width = MOST_RANGES // self.ranges
        counts = collections.defaultdict[str, int](int)
        for group in self._groups():
            for side in self.sides:
                path = _counts_path(self.folder, group, side)
                data = read_slices(path, number * width, (number + 1) * width)
                for word, count in _parse(data):
                    counts[word] += count
        words = most_frequent(counts.items(), self.learned_words)
        head = {"distinct": len(counts), "characters": "".join(sorted(set().union(*counts)))}
        rows = "".join(f"{word}\t{count}\n" for word, count in words.items())
        write_atomically(self._path(number), f"{json.dumps(head)}\n{rows}".encode())

    def read(self) -> "WordCounts":
        """Returns the words of all ranges."""
        heads = [json.loads(next(self._lines(number))) for number in range(self.ranges)]
        characters = set[str]().union(*(head["characters"] for head in heads))
        words = most_frequent(self._words(), self.learned_words)
        return WordCounts(words, sum(head["distinct"] for head in heads), len(characters))

    def _words(self) -> Iterator[tuple[str, int]]:
        for number in range(self.ranges):
            lines = self._lines(number)
            next(lines)
            yield from map(_parse_row, lines)

    def _lines(self, number: int) -> Iterator[str]:
        with storage.open_file(self._path(number)) as file:
            for line in file:
                yield line[:-1].decode()

    def _groups(self) -> list[str]:
        """Returns the names of all groups of blocks."""
        indices = range(0, self.blocks, self.group_size)
        return [block_name("train", index) for index in indices]

    def _path(self, number: int) -> str:
        sides = "-".join(self.sides)
        return f"{self.folder}/{sides}-{number:02d}-of-{self.ranges:02d}.tsv"


@dataclasses.dataclass(frozen=True)
class Counted:
    """The words of the training pairs: the pairs, and the counts for each vocabulary."""

    report: CountReport
    merged: tuple[MergedCounts, ...]


@dataclasses.dataclass(frozen=True)
class WordCounts:
    """What subwords are learned from."""

    words: Mapping[str, int]  # occurrences of each
    distinct: int  # words, also those that are too rare to be among `words`
    characters: int  # different ones, of all words


def _divide(counts: Mapping[str, int]) -> list[bytes]:
    """Returns rows of words and counts, by a hash of the word."""
    slices = [bytearray() for _ in range(MOST_RANGES)]
    for word, count in counts.items():
        data = word.encode()
        slices[zlib.crc32(data) % MOST_RANGES] += b"%s\t%d\n" % (data, count)
    return list(map(bytes, slices))


def _parse(data: bytes) -> Iterator[tuple[str, int]]:
    return map(_parse_row, data.decode().split("\n")[:-1])


def _parse_row(row: str) -> tuple[str, int]:
    word, _, count = row.partition("\t")
    return word, int(count)


def _counts_path(folder: str, name: str, side: str) -> str:
    return f"{folder}/{name}.{side}.counts"
