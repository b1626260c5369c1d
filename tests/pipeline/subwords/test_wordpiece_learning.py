"""The learner against TensorFlow Text's own, on random words of a few syllables."""

import random

import pytest
from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib as library

from pipeline.subwords.wordpiece import JOINER, MARK, SPECIAL
from pipeline.subwords.wordpiece_learning import count_rests, learn

SYLLABLES = ["ba", "be", "da", "dé", "ung", "en", "s", "中", "#", "."]


@pytest.fixture(scope="module")
def word_counts() -> dict[str, int]:
    """Many words of one to nine syllables, the first ones much more frequent."""
    dice = random.Random(3)
    words = ("".join(dice.choices(SYLLABLES, k=dice.randrange(1, 10))) for _ in range(300))
    return {word: 1 + 900 // rank for rank, word in enumerate(words, 1)}


def learn_by_library(word_counts: dict[str, int], vocabulary_size: int) -> list[str]:
    """Returns the pieces that can occur in marked words, in the library's order."""
    marked = {MARK + word: count for word, count in word_counts.items()}
    alphabet = set().union(*marked)
    pieces = library.learn(
        marked,
        vocab_size=vocabulary_size + len(alphabet),  # characters that start no marked word
        slack_ratio=0.05 * vocabulary_size / (vocabulary_size + len(alphabet)),
        reserved_tokens=list(SPECIAL),
        upper_thresh=sum(len(w) * n for w, n in marked.items()) // vocabulary_size,
        lower_thresh=1,
    )
    usable = [piece for piece in pieces if piece.startswith((MARK, JOINER))]
    return [*SPECIAL, *(piece for piece in usable if piece != JOINER + MARK)]


@pytest.mark.parametrize("vocabulary_size", [100, 150])
def test_vocabulary_is_that_of_tensorflow_text(
    word_counts: dict[str, int], vocabulary_size: int
) -> None:
    expected = learn_by_library(word_counts, vocabulary_size)
    assert 0.95 * vocabulary_size <= len(expected) <= vocabulary_size
    assert learn(word_counts, vocabulary_size) == expected


def test_pieces_split_a_word_from_the_left_and_the_longest_wins() -> None:
    pieces = {"▁u", "▁un", "##do", "##d", "##n", "##ne", "##o", "##e"}
    assert count_rests({"▁undone": 5, "▁un": 2}, pieces) == {
        "▁undone": 5,
        "##done": 5,
        "##ne": 5,
        "▁un": 2,
    }


def test_the_order_of_counts_does_not_matter(word_counts: dict[str, int]) -> None:
    assert learn(dict(reversed(word_counts.items())), 300) == learn(word_counts, 300)


def test_the_largest_vocabulary_that_fits_is_found_when_none_is_near() -> None:
    """Ten words of one count are all in or all out: 3 + 6 pieces, or ten more."""
    word_counts = {f"{first}{second}": 7 for first in "abcde" for second in "xy"}
    words = {MARK + word for word in word_counts}
    assert not words & set(learn(word_counts, 15))
    assert words <= set(learn(word_counts, 23))


def test_rare_characters_and_long_words_are_left_out() -> None:
    vocabulary = learn({"aab": 9, "ac": 1, "b" * 50: 1}, 9, max_alphabet=3)
    assert "▁aab" in vocabulary and "▁ac" not in vocabulary and "##c" not in vocabulary
    assert MARK + "b" * 50 not in vocabulary


def test_the_most_frequent_words_are_learned_from() -> None:
    vocabulary = learn({"one": 5, "two": 6, "three": 4}, 20, max_words=2)
    assert {"▁one", "▁two"} <= set(vocabulary) and "▁three" not in vocabulary
    assert "##h" in vocabulary  # yet it can be spelled
