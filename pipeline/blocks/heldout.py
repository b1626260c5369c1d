"""Dev and test: given files, or pairs held out of the training text.

Their raw text is written to the dataset directory, so evaluation does not need the corpus.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.blocks.candidates import CANDIDATE
from pipeline.blocks.clean_block import CleanReport
from pipeline.blocks.heldout_text import HeldoutText, write_heldout
from pipeline.blocks.inventory import Inventory
from pipeline.blocks.pair_files import parse_row, read_clean_pairs, write_clean_pairs
from pipeline.blocks.stop import place_of
from pipeline.cleaning.rule_flags import HELD_OUT
from pipeline.cleaning.rules import OVERLAP
from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block, block_name, read_span
from pipeline.corpora.spans import Span
from pipeline.dataset.schema import Pair

LARGEST_SHARE = 20  # at most one pair in 20 is held out for each of dev and test


def count_candidates(splits: int, holdout_pairs: int) -> int:
    """Returns how many sentences to choose from: fewer than 20 are each over 5 % of the corpus."""
    wanted = splits * holdout_pairs
    return wanted + LARGEST_SHARE if wanted else 0


@dataclasses.dataclass(frozen=True)
class Choice:
    """How many pairs are wanted for which splits, of how many.

    splits: those without inputs.
    pairs: wanted for each; fewer if the training text would lose over 5 % of its pairs, but at
      least one if it has more pairs than there are splits to fill.
    """

    splits: tuple[str, ...]
    pairs: int

    @property
    def candidates(self) -> int:
        """Returns how many sentences to choose from."""
        return count_candidates(len(self.splits), self.pairs)

    def choose(self, candidates: bytes, kept: int) -> dict[str, np.ndarray]:
        """Assigns the sentences with the smallest keys to the splits in order.

        Training must not see a held-out sentence, so it loses all copies: these count for the
        largest share too, and a sentence that alone exceeds it stays in training.

        Example: 2 pairs for each of dev and test, where the four smallest keys of the corpus are
        03, 0a, 11 and 1f: dev gets the pairs of 03 and 0a, test those of 11 and 1f.

        Args:
            candidates: ascending by key, by `candidates.merge_candidates`.
            kept: clean pairs of the training text.
        """
        largest = max(kept // LARGEST_SHARE, 1 if kept > len(self.splits) else 0)
        sentences = np.frombuffer(candidates, CANDIDATE)
        fitting = sentences[sentences["copies"] <= largest]
        chosen = {}
        for split in self.splits:
            wanted = fitting[: self.pairs]
            count = int(np.sum(np.cumsum(wanted["copies"]) <= largest))
            chosen[split], fitting = wanted[:count], fitting[count:]
        return chosen


@dataclasses.dataclass(frozen=True)
class HeldOut(HeldoutText):
    """Dev and test, and in the file what training must not see.

    chosen: a block of each split without inputs.
    cleaned: what `CleanPairs` did to each split; the chosen pairs count as read.
    lines: of all splits with inputs, and the chosen pairs.
    blocks: number of all blocks.
    """

    chosen: tuple[Block, ...]
    cleaned: Mapping[str, CleanReport]
    lines: int
    blocks: int

    @property
    def counters(self) -> dict[str, dict[str, int]]:
        """Returns what is counted, by split; `overlap` counts the pairs that were held out too."""
        held_out = sum(block.lines for block in self.chosen)
        moved = {HELD_OUT: held_out, OVERLAP: -held_out}
        return {**{block.split: {"read": block.lines} for block in self.chosen}, "train": moved}


@dataclasses.dataclass(frozen=True)
class HoldOutPairs:
    """Writes dev and test as raw text, and chooses the pairs of those without inputs.

    choice: pairs to choose.
    drop_overlap: keep given dev and test pairs out of training.
    pairs_folder: where `CleanPairs` wrote.
    final: folder of the dataset's files.
    path: file of what training must not see.
    """

    choice: Choice
    drop_overlap: bool
    pairs_folder: str
    final: str
    path: str

    def __call__(
        self,
        inventory: Inventory,
        totals: Mapping[str, CleanReport],
        candidates: bytes,
        given: Sequence[tuple[Block, CleanReport]],
    ) -> HeldOut:
        """Writes the files.

        Args:
            inventory: the inputs.
            totals: what `CleanPairs` did to each split with inputs.
            candidates: for dev and test, ascending by key.
            given: blocks of dev and test, in any order.
        """
        heldout: set[str | Pair] = set()
        blocks = sorted((block for block, _ in given), key=place_of)
        for split in inventory.blocks.keys() - {"train"}:
            write_given(split, [block for block in blocks if block.split == split], self.final)
        for block in blocks if self.drop_overlap else ():
            heldout.update(read_clean_pairs(self.pairs_folder, block.name))
        chosen, cleaned = [], dict(totals)
        for split, places in self.choice.choose(candidates, totals["train"].kept).items():
            pairs = read_chosen(places, self.pairs_folder)
            chosen.append(write_chosen(split, pairs, self.final, self.pairs_folder))
            cleaned[split] = CleanReport(lines=len(pairs), recomposed=0, dropped={})
            heldout.update(source for source, _ in pairs)
        text = write_heldout(self.path, heldout)
        return HeldOut(
            text.path,
            text.sha256,
            tuple(chosen),
            cleaned,
            lines=sum(report.lines for report in cleaned.values()),
            blocks=sum(inventory.blocks.values()) + len(chosen),
        )


def read_chosen(candidates: np.ndarray, pairs_folder: str) -> list[Pair]:
    """Returns the pairs of candidates, each row read on its own from its block's TSV."""
    return [
        parse_row(
            storage.read_range(
                f"{pairs_folder}/{block_name('train', candidate['block'])}.tsv",
                int(candidate["start"]),
                int(candidate["size"]),
            )
        )
        for candidate in candidates
    ]


def write_chosen(split: str, pairs: Sequence[Pair], final: str, pairs_folder: str) -> Block:
    """Writes held-out pairs as raw text and as clean pairs; returns their block."""
    _write_text(split, final, [source for source, _ in pairs], [target for _, target in pairs])
    nowhere = Span("", 0, 0, "held out of the training text", 1)
    block = Block(split, 0, len(pairs), nowhere, nowhere)
    write_clean_pairs(pairs_folder, block.name, pairs)
    return block


def write_given(split: str, blocks: Sequence[Block], final: str) -> None:
    """Writes the raw text of a split whose files were given: every line, unchanged."""
    sides = ([block.source for block in blocks], [block.target for block in blocks])
    sources, targets = (
        list(itertools.chain.from_iterable(map(read_span, spans))) for spans in sides
    )
    _write_text(split, final, sources, targets)


def text_paths(split: str) -> tuple[str, str]:
    """Returns the paths of a split's raw text in the dataset directory, source and target."""
    return f"{split}/source.txt", f"{split}/target.txt"


def _write_text(split: str, final: str, sources: Sequence[str], targets: Sequence[str]) -> None:
    storage.make_folder(f"{final}/{split}")
    for path, lines in zip(text_paths(split), (sources, targets), strict=True):
        write_atomically(f"{final}/{path}", "".join(f"{line}\n" for line in lines).encode())
