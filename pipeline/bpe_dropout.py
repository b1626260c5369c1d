"""BPE-dropout: another segmentation of the same words every time (Provilkov et al. 2020).

SentencePiece can draw segmentations too, but not the same ones in another process.
"""

import dataclasses
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
    while True:
        merges = [
            (ranks[merged], place)
            for place, merged in enumerate(map(str.__add__, pieces, pieces[1:]))
            if merged in ranks and draw() >= rate
        ]
        if not merges:
            return pieces
        _, place = min(merges)
        pieces[place : place + 2] = ["".join(pieces[place : place + 2])]
