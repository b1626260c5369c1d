"""BPE-dropout: another segmentation of the same words every time (Provilkov et al. 2020).

SentencePiece can draw segmentations too, but not the same ones in another process.
"""

import dataclasses
import itertools
import random
from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class BpeDropout:
    """How often text is segmented, and how much at random.

    rate: probability of leaving out a merge.
    samples: segmentations of every sentence; 1 if the rate is 0, for they would be the same.
    """

    rate: float = 0.0
    samples: int = 1


NO_DROPOUT = BpeDropout()


def segment(
    word: str, ranks: Mapping[str, float], rate: float, generator: random.Random
) -> Sequence[str]:
    """Returns the pieces of a word (Provilkov et al. 2020, algorithm 1).

    Args:
        word: its characters are merged, two neighbours at a time.
        ranks: of what neighbours may merge to; the least goes first, on its leftmost place.
        rate: probability that a possible merge is not seen, drawn anew before every merge.
        generator: gives the random numbers.
    """
    pieces, draw = list(word), generator.random
    merged = [ranks.get(left + right) for left, right in itertools.pairwise(pieces)]
    while True:
        seen = [
            (rank, place)
            for place, rank in enumerate(merged)
            if rank is not None and draw() >= rate
        ]
        if not seen:
            return pieces
        _, place = min(seen)
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
        del merged[place]
        for changed in (place - 1, place):
            if 0 <= changed < len(merged):
                merged[changed] = ranks.get(pieces[changed] + pieces[changed + 1])
