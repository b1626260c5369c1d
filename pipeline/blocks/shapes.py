"""Shapes of rows, chosen from the lengths of the first pairs of every block."""

import collections
import dataclasses
import math
from collections.abc import Iterable, Mapping

from pipeline.blocks.encode_block import Encoding, pair_lengths
from pipeline.blocks.heldout import HeldOut
from pipeline.blocks.pair_files import read_clean_pairs
from pipeline.corpora.blocks import Block
from pipeline.dataset.packing import choose_shapes
from pipeline.dataset.schema import Lengths

_SAMPLED_PAIRS = 50_000  # a small corpus whole, ≈ 1 s of a large one

Histogram = Mapping[Lengths, int]  # pairs by their lengths


@dataclasses.dataclass(frozen=True)
class LengthSample:
    """The lengths of the first pairs of every block.

    pairs_folder: where `CleanPairs` wrote.
    max_length: pairs with a longer side do not count, tokens.
    """

    pairs_folder: str
    max_length: int

    def measure(self, block: Block, encoding: Encoding, heldout: HeldOut) -> Histogram:
        """Returns the lengths of a block's first pairs, so many that all blocks give enough."""
        first = None if has_few(heldout) else math.ceil(_SAMPLED_PAIRS / heldout.blocks)
        pairs = read_clean_pairs(self.pairs_folder, block.name, first)
        first_sample = next(encoding.encode(pairs, block.split))
        lengths = pair_lengths(first_sample)
        return collections.Counter(pair for pair in lengths if max(pair) <= self.max_length)

    def choose(
        self, histogram: Histogram, encoding: Encoding, heldout: HeldOut
    ) -> tuple[Lengths, ...]:
        """Returns the shapes of rows for the lengths of all blocks together."""
        longest = self.max_length, self.max_length
        if histogram and has_few(heldout) and not encoding.dropout.rate:  # all lengths are known
            longest = max(source for source, _ in histogram), max(target for _, target in histogram)
        return choose_shapes(histogram, longest)


def add_histograms(histograms: Iterable[Histogram]) -> Histogram:
    """Returns the histogram of all pairs."""
    total = collections.Counter[Lengths]()
    for histogram in histograms:
        total.update(histogram)
    return total


def has_few(heldout: HeldOut) -> bool:
    """Returns whether the corpus is so small that all its lengths are looked at."""
    return heldout.lines <= _SAMPLED_PAIRS
