"""The size of a vocabulary that is learned, given or not."""

import collections
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.blocks.count_block import WordCounts
from pipeline.blocks.vocabularies import plan_vocabularies
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig

TEXT = "the old dog sleeps and the old cat sings a song while the sun shines and the wind blows"
WORDS = collections.Counter(TEXT.split(" "))


def learn(folder: Path, pairs: int, words: Mapping[str, int] = WORDS, **fields: Any) -> int:
    """Returns the size of a vocabulary learned from these words, as if of so many pairs."""
    config = PreprocessConfig(source_files=("a",), target_files=("b",), **fields)
    (plan,) = plan_vocabularies(config)
    counts = WordCounts(words, len(words), len(set().union(*words)))
    plan.write(str(folder), lambda: counts, pairs)
    return plan.identify(str(folder)).size


@pytest.mark.parametrize(("pairs", "size"), [(100, 1_000), (2_000, 2_000)])
def test_a_size_that_is_not_given_suits_the_number_of_pairs(
    tmp_path: Path, pairs: int, size: int
) -> None:
    words = {"".join(letters): 2 for letters in itertools.product("abcdefghijklmno", repeat=3)}
    assert learn(tmp_path, pairs, words) == size


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_words_too_few_for_the_chosen_size_fill_what_they_can(tmp_path: Path, kind: str) -> None:
    largest = learn(tmp_path, 5_000, subwords=kind)
    assert {"bpe": 290, "wordpiece": 30}[kind] < largest < 400


def test_a_size_that_words_cannot_fill_is_refused_with_one_that_suits(tmp_path: Path) -> None:
    expected = (
        r"--vocabulary_size=9999 is more than this corpus can fill: expected at most (\d+), "
        r"with few words in several pieces; leave the flag out for \1, which suits 5,000 pairs"
    )
    with pytest.raises(UserError, match=expected):
        learn(tmp_path, 5_000, vocabulary_size=9999)


def test_learned_subwords_are_not_learned_again(tmp_path: Path) -> None:
    (plan,) = plan_vocabularies(PreprocessConfig(source_files=("a",), target_files=("b",)))
    learn(tmp_path, 5_000)
    before = plan.identify(str(tmp_path))
    plan.write(str(tmp_path), lambda: pytest.fail("read the counts"), 5_000)
    assert plan.identify(str(tmp_path)) == before
