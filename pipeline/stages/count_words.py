"""CountWords: how often each word occurs on each side of the training pairs."""

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import BlockGroup
from pipeline.dataset.schema import SIDES
from pipeline.stages.pair_files import Heldout, read_training_pairs


@dataclasses.dataclass(frozen=True)
class CountReport:
    """Training pairs of a group of blocks; the counts are in files."""

    kept: int
    dropped: Mapping[str, int]  # pairs, by rule

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "CountReport":
        """Returns the report that `to_json` gave."""
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class CountWords:
    """The stage function: from a group's clean pairs to one TSV of words per side."""

    pairs_folder: str
    folder: str
    heldout: Heldout
    drop_duplicates: bool = False

    def __call__(self, group: BlockGroup) -> CountReport:
        """Processes one group of blocks."""
        counts = {side: collections.Counter[str]() for side in SIDES}
        kept, all_dropped = 0, collections.Counter[str]()
        for block in group.blocks:
            pairs, dropped = read_training_pairs(
                self.pairs_folder, block.name, self.heldout, drop_duplicates=self.drop_duplicates
            )
            kept += len(pairs)
            all_dropped.update(dropped)
            for index, side in enumerate(SIDES):
                counts[side].update(word for pair in pairs for word in pair[index].split(" "))
        for side in SIDES:
            rows = "".join(f"{word}\t{count}\n" for word, count in counts[side].items())
            write_atomically(_counts_path(self.folder, group.name, side), rows.encode())
        return CountReport(kept, dict(all_dropped))


def read_counts(folder: str, name: str, side: str) -> Iterator[tuple[str, int]]:
    """Yields the words of a side of a group of blocks, with their counts."""
    for row in storage.read(_counts_path(folder, name, side)).decode().split("\n")[:-1]:
        word, _, count = row.partition("\t")
        yield word, int(count)


def _counts_path(folder: str, name: str, side: str) -> str:
    return f"{folder}/{name}.{side}.tsv"
