"""Learning a wordpiece vocabulary (Schuster & Nakajima 2012) as TensorFlow Text's learner does.

For the same threshold it finds the same pieces, some ten times sooner. The library counts
every substring that starts where a piece of its word starts, then takes from each count those of
all longer substrings which it begins. What stays is how often a substring is the whole rest of a
word from the start of one of its pieces on, so only those rests are counted here.
"""

import collections
from collections.abc import Collection, Mapping

from pipeline.subwords.wordpiece import JOINER, MARK, SPECIAL

# The library's defaults, but for fewer words: those beyond occur once or twice in a large corpus.
_MAX_WORDS = 1_000_000
_MAX_WORD_LENGTH = 50  # characters; longer words are not learned from
_MAX_ALPHABET = 1000  # characters
_ITERATIONS = 4
_SLACK = 0.05  # share of the vocabulary that may stay empty

Counts = Mapping[str, int]


def learn(word_counts: Counts, vocabulary_size: int) -> list[str]:
    """Returns a vocabulary that starts with the special pieces.

    Its pieces are those that occur some number of times at least: the least number, found by
    bisection, at which they fit, or one at which they fill the vocabulary but for 5 %.

    Args:
        word_counts: occurrences of each word; words mark no spaces.
        vocabulary_size: pieces to aim at. The result has more if the characters alone need more,
          and less if the words do not have so many pieces.
    """
    marked = {MARK + word: count for word, count in word_counts.items()}
    marked = {word: marked[word] for word in marked if len(word) <= _MAX_WORD_LENGTH}
    alphabet = _alphabet(marked)
    words = [word for word in marked if alphabet.issuperset(word)]
    words = sorted(words, key=lambda word: (-marked[word], word))[:_MAX_WORDS]
    search = _Search({word: marked[word] for word in words}, alphabet)
    # All pieces together cannot occur more often than characters do.
    characters = sum(len(word) * count for word, count in marked.items())
    low = min(marked.values())
    high = max(low, characters // vocabulary_size)
    best = None
    while low <= high:
        threshold = (low + high) // 2
        vocabulary = search.vocabulary(threshold)
        if len(vocabulary) > vocabulary_size:
            low = threshold + 1
            continue
        best, high = vocabulary, threshold - 1
        if len(vocabulary) >= (1 - _SLACK) * vocabulary_size:
            break
    return best or vocabulary


class _Search:
    """The words to learn from, and what a vocabulary for any threshold starts from."""

    def __init__(self, words: Counts, alphabet: Collection[str]) -> None:
        self._words = words
        self._characters = {MARK: 1, **{JOINER + each: 1 for each in alphabet if each != MARK}}
        self._first_rests = count_rests(words, self._characters)

    def vocabulary(self, threshold: int) -> list[str]:
        """Returns all pieces whose words occur `threshold` times at least, common ones first."""
        rests = self._first_rests
        for _ in range(_ITERATIONS - 1):
            rests = count_rests(self._words, self._pieces(rests, threshold))
        pieces = self._pieces(rests, threshold)
        common_first = sorted(pieces, key=lambda piece: (-pieces[piece], piece))
        return [*SPECIAL, MARK, *(piece for piece in common_first if piece != MARK)]

    def _pieces(self, rests: Counts, threshold: int) -> Counts:
        common = {rest: count for rest, count in rests.items() if count >= threshold}
        return self._characters | common


def count_rests(words: Counts, pieces: Collection[str]) -> dict[str, int]:
    """Returns how often words go on in the same way from the start of one of their pieces.

    Example: pieces "▁un", "##do" and "##ne" split "▁undone" in three, which counts once for each
    of "▁undone", "##done" and "##ne".

    Args:
        words: marked words and how often each occurs.
        pieces: they split a word from the left, the longest that fits first.
    """
    rests = collections.defaultdict[str, int](int)
    for word, count in words.items():
        rest = word
        while True:
            rests[rest] += count
            piece = rest
            while piece not in pieces:
                piece = piece[:-1]
            if len(piece) == len(rest):
                break
            rest = JOINER + rest[len(piece) :]
    return rests


def _alphabet(words: Counts) -> set[str]:
    """Returns the most frequent characters; words with others are not learned from."""
    counts = collections.Counter[str]()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    return set(sorted(counts, key=lambda each: (-counts[each], each))[:_MAX_ALPHABET])
