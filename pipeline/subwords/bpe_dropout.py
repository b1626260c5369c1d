"""BPE-dropout: random segmentations of words (Provilkov et al. 2020).

SentencePiece also samples segmentations, but its samples cannot be reproduced in another process.
"""

import dataclasses
import itertools
import random
from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class BpeDropout:
    """Settings of BPE-dropout.

    rate: probability of skipping a merge.
    samples: segmentations of each sentence; 1 if the rate is 0, since all would be equal.
    """

    rate: float = 0.0
    samples: int = 1


NO_DROPOUT = BpeDropout()


def segment(
    word: str, ranks: Mapping[str, float], rate: float, generator: random.Random
) -> Sequence[str]:
    """Returns the pieces of a word (Provilkov et al. 2020, algorithm 1).

    Args:
        word: characters, which are merged two neighbours at a time.
        ranks: rank of each piece that two neighbours may merge to; the lowest rank goes first,
          leftmost first among equal ranks.
        rate: probability of skipping a possible merge, drawn again before every merge.
        generator: source of random numbers.
    """
    pieces, draw = list(word), generator.random
    merged = [ranks.get(left + right) for left, right in itertools.pairwise(pieces)]
    while True:
        candidates = [
            (rank, place)
            for place, rank in enumerate(merged)
            if rank is not None and draw() >= rate
        ]
        if not candidates:
            return pieces
        _, place = min(candidates)
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
        del merged[place]
        for changed in (place - 1, place):
            if 0 <= changed < len(merged):
                merged[changed] = ranks.get(pieces[changed] + pieces[changed + 1])
