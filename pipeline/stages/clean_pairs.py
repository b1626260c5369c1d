"""CleanPairs: reads a block, normalizes its lines, drops pairs by rule, writes the rest."""

import collections
import dataclasses
import heapq
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.cleaning import deduplication, normalization
from pipeline.cleaning.rules import PairRules, reason_to_drop
from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block, read_span
from pipeline.dataset.schema import Pair
from pipeline.stages.pair_files import write_clean_pairs


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

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "CleanReport":
        """Returns the report that `to_json` gave."""
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class CleanPairs:
    """The stage function: from a block's lines to a TSV of clean pairs.

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
        write_clean_pairs(self.folder, block.name, pairs)
        if is_train and config.drop_duplicates:
            keys = [normalization.pair_key(*pair) for pair in pairs]
            deduplication.write_keys(self.folder, block.name, keys)
        if is_train and self.candidates:
            self._write_candidates(block, pairs)
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

    def _write_candidates(self, block: Block, pairs: Sequence[Pair]) -> None:
        first_rows: dict[str, int] = {}  # by sentence key: a repeated source has one candidate
        copies = collections.Counter[str]()
        for row, (source, _) in enumerate(pairs):
            key = normalization.sentence_key(source).hex()
            first_rows.setdefault(key, row)
            copies[key] += 1
        smallest = heapq.nsmallest(self.candidates, first_rows.items())
        data = json.dumps([(key, row, copies[key]) for key, row in smallest])
        write_atomically(f"{self.folder}/{block.name}.candidates", data.encode())


def read_candidates(folder: str, name: str) -> list[tuple[str, int, int]]:
    """Returns (sentence key, row, copies in the block) of a block's candidates for dev and test."""
    return [(key, *rest) for key, *rest in json.loads(storage.read(f"{folder}/{name}.candidates"))]
