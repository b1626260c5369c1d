"""Random choices that are equal on every platform and Python version."""

import random
from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


class SeededRandom:
    """A seeded source of choices.

    Only `random.Random.random` is used: Python guarantees its sequence, but not those of `choice`,
    `choices` and `shuffle`.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        """Returns True with the given probability."""
        return self._random() < probability

    def choice(self, items: Sequence[_Item]) -> _Item:
        """Returns one of the items, all equally likely."""
        return items[int(self._random() * len(items))]

    def weighted_choice(self, items: Sequence[tuple[int, _Item]]) -> _Item:
        """Returns one of the items of (weight, item), in proportion to the weights."""
        point = self._random() * sum(weight for weight, _ in items)
        for weight, item in items:
            point -= weight
            if point < 0:
                return item
        return items[-1][1]
