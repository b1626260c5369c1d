"""Learning a wordpiece vocabulary (Schuster & Nakajima 2012) by TensorFlow Text's algorithm.

For equal thresholds it finds the same pieces about ten times as fast. The library counts every
substring that starts where a piece of its word starts, then subtracts from each count those of all
longer substrings that begin with it. The difference is how often a substring is the whole rest of
a word after one of its pieces, so only those rests are counted here.
"""

import collections
from collections.abc import Collection, Mapping

from pipeline.subwords.wordpiece import JOINER, MARK, SPECIAL

# The library's defaults, except for fewer words: in a large corpus, the rest occur once or twice.
_MAX_WORDS = 1_000_000
_MAX_WORD_LENGTH = 50  # characters; longer words are not learned from
_MAX_ALPHABET = 1000  # characters
_ITERATIONS = 4
_SLACK = 0.05  # share of the vocabulary that may stay empty

Counts = Mapping[str, int]


def learn(
    word_counts: Counts,
    vocabulary_size: int,
    *,
    max_words: int = _MAX_WORDS,
    max_alphabet: int = _MAX_ALPHABET,
) -> list[str]:
    """Returns a vocabulary that starts with the special pieces.

    It holds the pieces that occur at least `threshold` times. Bisection finds the lowest threshold
    whose pieces fit; it stops early at one whose pieces fill 95 to 100 % of the vocabulary.

    Args:
        word_counts: occurrences of each word, words without the mark.
        vocabulary_size: target number of pieces. The result has more if the characters alone
          require more, and fewer if the words have fewer pieces.
        max_words: only this many words, the most frequent, are learned from.
        max_alphabet: words with characters other than this many, the most frequent, are left out.
    """
    marked = {MARK + word: count for word, count in word_counts.items()}
    marked = {word: marked[word] for word in marked if len(word) <= _MAX_WORD_LENGTH}
    alphabet = _alphabet(marked, max_alphabet)
    words = [word for word in marked if alphabet.issuperset(word)]
    words = sorted(words, key=lambda word: (-marked[word], word))[:max_words]
    search = _Search({word: marked[word] for word in words}, alphabet)
    # Pieces cannot occur more often in total than characters do.
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
    """The words to learn from, and the first counts, which all thresholds share."""

    def __init__(self, words: Counts, alphabet: Collection[str]) -> None:
        self._words = words
        inner = (JOINER + character for character in alphabet if character != MARK)
        self._characters = {MARK: 1, **dict.fromkeys(inner, 1)}
        self._first_rests = count_rests(words, self._characters)

    def vocabulary(self, threshold: int) -> list[str]:
        """Returns the pieces that occur at least `threshold` times, the most frequent first."""
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
    """Returns how often each string is the rest of a word from the start of one of its pieces.

    Example: pieces "▁un", "##do" and "##ne" split "▁undone" in three, which counts once for each
    of "▁undone", "##done" and "##ne".

    Args:
        words: occurrences of each marked word.
        pieces: split a word from the left, the longest match first.
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


def _alphabet(words: Counts, size: int) -> set[str]:
    """Returns the most frequent characters."""
    counts = collections.Counter[str]()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    by_frequency = sorted(counts, key=lambda character: (-counts[character], character))
    return set(by_frequency[:size])
