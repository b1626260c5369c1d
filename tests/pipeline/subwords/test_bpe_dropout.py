import random

import pytest

from pipeline.subwords.bpe_dropout import segment

RANKS = {"lo": 1, "low": 2, "er": 3, "lower": 4, "we": 5}


def test_without_dropout_the_earliest_merges_go_first() -> None:
    assert segment("lower", RANKS, 0.0, random.Random(1)) == ["lower"]
    assert segment("lowelo", RANKS, 0.0, random.Random(1)) == ["low", "e", "lo"]
    assert segment("", RANKS, 0.0, random.Random(1)) == []


def test_the_leftmost_of_equal_merges_goes_first() -> None:
    assert segment("aaa", {"aa": 1}, 0.0, random.Random(1)) == ["aa", "a"]


def test_a_merge_left_out_once_may_come_later() -> None:
    class Draws(random.Random):
        """First leaves out "lo", sees "er" and "we"; then sees all."""

        def __init__(self) -> None:
            super().__init__()
            self._left = [0.0, 1.0, 1.0]

        def random(self) -> float:
            return self._left.pop(0) if self._left else 1.0

    assert segment("lower", RANKS, 0.5, Draws()) == ["lower"]


def test_a_single_merge_is_left_out_as_often_as_the_rate_says() -> None:
    generator = random.Random(1)
    left_out = sum(len(segment("lo", RANKS, 0.3, generator)) == 2 for _ in range(10_000))
    assert left_out / 10_000 == pytest.approx(0.3, abs=0.02)


def test_a_seed_gives_the_same_pieces_everywhere() -> None:
    generator = random.Random(1706)
    pieces = [" ".join(segment("lowerlow", RANKS, 0.4, generator)) for _ in range(6)]
    assert pieces == [
        "low er low",
        "lower lo w",
        "low er l o w",
        "low er low",
        "low e r low",
        "low e r low",
    ]
