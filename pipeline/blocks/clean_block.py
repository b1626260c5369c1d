"""Cleaning a block: its lines are normalized, pairs dropped by rule, the rest written."""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.blocks.candidates import candidates_path, find_candidates
from pipeline.blocks.pair_files import write_clean_pairs
from pipeline.blocks.repeats import keys_path
from pipeline.blocks.slices import write_slices
from pipeline.cleaning import deduplication, normalization
from pipeline.cleaning.rules import PairRules, reason_to_drop
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block, read_span
from pipeline.dataset.schema import Pair


@dataclasses.dataclass(frozen=True)
class CleanReport:
    """What cleaning did to one block."""

    lines: int  # read
    recomposed: int  # sides that Unicode NFC changed
    dropped: Mapping[str, int]  # pairs, by rule

    @property
    def kept(self) -> int:
        """Returns the number of pairs that no rule dropped."""
        return self.lines - sum(self.dropped.values())

    @property
    def counters(self) -> Mapping[str, int]:
        """Returns the pairs read, and those dropped by each rule."""
        return {"read": self.lines, **self.dropped, "recomposed": self.recomposed}

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "CleanReport":
        """Returns the report that `to_json` gave."""
        return cls(**values)


def add_reports(reports: Iterable[CleanReport]) -> CleanReport:
    """Returns the report about several blocks together."""
    lines = recomposed = 0
    dropped = collections.Counter[str]()
    for report in reports:
        lines += report.lines
        recomposed += report.recomposed
        dropped.update(report.dropped)
    return CleanReport(lines, recomposed, dict(dropped))


@dataclasses.dataclass(frozen=True)
class CleanBlock:
    """From a block's lines to a TSV of clean pairs.

    For training blocks it also writes the keys of all pairs, if duplicates are to be dropped, and
    the block's `candidates` pairs with the smallest sentence keys: the smallest of all blocks are
    held out for dev and test.
    """

    folder: str
    rules: PairRules
    candidates: int

    def __call__(self, block: Block) -> CleanReport:
        """Processes one block."""
        is_train = block.split == "train"
        config = self.rules.config
        strict = not (is_train and config.drop_undecodable)
        sources, targets = (read_span(span, strict=strict) for span in (block.source, block.target))
        pairs, dropped = self._clean(sources, targets, block.split)
        starts = write_clean_pairs(self.folder, block.name, pairs)
        if is_train and config.drop_duplicates:
            keys = [normalization.pair_key(*pair) for pair in pairs]
            write_slices(keys_path(self.folder, block.index), deduplication.divide_keys(keys))
        if is_train and self.candidates:
            candidates = find_candidates(block.index, pairs, starts, self.candidates)
            write_atomically(candidates_path(self.folder, block), candidates.tobytes())
        recomposed = normalization.count_recomposed(itertools.chain(sources, targets))
        return CleanReport(block.lines, recomposed, dropped)

    def _clean(
        self, sources: Sequence[str], targets: Sequence[str], split: str
    ) -> tuple[list[Pair], dict[str, int]]:
        """Returns the normalized pairs that no rule drops, and how many each rule dropped."""
        rules = self.rules.chosen(split)
        pairs = []
        dropped = collections.Counter[str]()
        for lines in zip(sources, targets, strict=True):
            source, target = map(normalization.normalize, lines)
            reason = reason_to_drop(source, target, rules)
            if reason:
                dropped[reason] += 1
            else:
                pairs.append((source, target))
        return pairs, dict(dropped)
