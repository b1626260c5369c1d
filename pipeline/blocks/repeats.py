"""Repeated pairs of the training text, between the stages: which rows of a block repeat others."""

import dataclasses

import numpy as np

from pipeline.blocks.slices import read_slices, write_slices
from pipeline.cleaning.deduplication import MOST_RANGES, find_repeats
from pipeline.common import storage
from pipeline.corpora.blocks import Block, block_name


@dataclasses.dataclass(frozen=True)
class Repeats:
    """The repeated pairs, in one file for each of `ranges` ranges of keys.

    blocks: how many the training text has.
    """

    folder: str
    ranges: int
    blocks: int

    def find(self, number: int) -> None:
        """Writes the repeats among the pairs of one range of keys, unless an earlier run has."""
        if storage.is_file(self._path(number)):
            return
        width = MOST_RANGES // self.ranges
        first = number * width
        slices = [
            read_slices(keys_path(self.folder, index), first, first + width)
            for index in range(self.blocks)
        ]
        write_slices(self._path(number), find_repeats(slices))

    def rows(self, block: Block) -> set[int]:
        """Returns the rows of a block's clean pairs that repeat an earlier pair."""
        parts = (
            read_slices(self._path(number), block.index, block.index + 1)
            for number in range(self.ranges)
        )
        return set(np.frombuffer(b"".join(parts), "<u4").tolist())

    def _path(self, number: int) -> str:
        return f"{self.folder}/{number:04d}-of-{self.ranges:04d}.repeats"


def keys_path(folder: str, index: int) -> str:
    """Returns the file of the keys of a training block's pairs."""
    return f"{folder}/{block_name('train', index)}.keys"
