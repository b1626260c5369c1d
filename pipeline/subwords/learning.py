"""Learning subwords: BPE by SentencePiece, or wordpiece by TensorFlow Text's algorithm.

Both learn from word counts, so they see the whole corpus, and their memory depends only on the
number of distinct words.
"""

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sentencepiece

from pipeline.cleaning.normalization import sentence_key
from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import END_ID, PADDING_ID, UNKNOWN_ID
from pipeline.subwords import wordpiece_learning
from pipeline.subwords.encoding import BPE, WORDPIECE
from pipeline.subwords.vocabulary_size import RESERVED
from pipeline.subwords.wordpiece import MARK, SPECIAL

LEARNED_WORDS = 1 << 18  # the most frequent: bounds memory for any corpus
_COVERAGE_OF_LARGE_ALPHABETS = 0.9995  # recommended by SentencePiece; bytes spell the rest


class VocabularyTooLarge(UserError):
    """The words cannot fill a vocabulary; `largest` is the size that they can fill."""

    def __init__(self, received: int, largest: int) -> None:
        """Makes the message from both sizes."""
        super().__init__(
            f"--vocabulary_size={received} is more than this corpus can fill: "
            f"expected at most {largest}"
        )
        self.largest = largest


def learn_bpe(
    word_counts: Mapping[str, int],
    vocabulary_size: int,
    path: str,
    *,
    tags: Sequence[str] = (),
    learned_words: int = LEARNED_WORDS,
) -> None:
    """Learns a SentencePiece BPE model of exactly `vocabulary_size` pieces and writes it.

    Args:
        word_counts: occurrences of each word, that is of the text between two spaces of normalized
          lines; in a script without spaces, a clause or a sentence.
        vocabulary_size: number of pieces, including 256 bytes and three special ids.
        path: file to write, atomically; equal counts give equal bytes.
        tags: words with a piece of their own, whether or not they occur.
        learned_words: only this many words, the most frequent, are learned from. (On 283,288 words
          of English–French text, learning from 200,000 gave 0.02 % more tokens than from all.)

    Raises:
        VocabularyTooLarge: the words cannot fill so many pieces.
        UserError: their characters require more.
    """
    learned = _ordered(most_frequent(word_counts.items(), learned_words))
    characters = set().union(*(word for word, _ in learned))
    few = len(characters) * 4 <= max(vocabulary_size - RESERVED, 0)
    model: list[bytes] = []
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(f"{word}\t{count}" for word, count in learned),
            model_writer=_Writer(model.append),
            input_format="tsv",
            model_type="bpe",
            vocab_size=vocabulary_size,
            pad_id=PADDING_ID,
            eos_id=END_ID,
            unk_id=UNKNOWN_ID,
            bos_id=-1,
            byte_fallback=True,
            character_coverage=1.0 if few else _COVERAGE_OF_LARGE_ALPHABETS,
            normalization_rule_name="identity",
            user_defined_symbols=[f"{MARK}{tag}" for tag in tags],
            num_threads=1,  # fixed, because it is written into the model
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _size_error(vocabulary_size, str(error)) from error
    write_atomically(path, b"".join(model))


def learn_wordpiece(
    word_counts: Mapping[str, int], vocabulary_size: int, path: str, *, tags: Sequence[str] = ()
) -> None:
    """Learns a wordpiece vocabulary and writes it, one piece per line.

    The algorithm fills 95 to 100 % of `vocabulary_size`, where the words have so many pieces.

    Args:
        word_counts: as of `learn_bpe`.
        vocabulary_size: number of pieces, including special ones and tags.
        path: file to write, atomically.
        tags: words with a piece of their own, whether or not they occur.

    Raises:
        VocabularyTooLarge: the words cannot fill 90 %.
        UserError: their characters require more pieces.
    """
    untagged = {
        word: count for word, count in word_counts.items() if not word.startswith(tuple(tags))
    }
    learned = wordpiece_learning.learn(untagged, vocabulary_size - len(tags))
    special = len(SPECIAL)
    pieces = [*learned[:special], *(f"{MARK}{tag}" for tag in tags), *learned[special:]]
    if len(pieces) < 0.9 * vocabulary_size:
        raise VocabularyTooLarge(vocabulary_size, len(pieces))
    if len(pieces) > vocabulary_size:
        raise _too_small(vocabulary_size, len(pieces))
    write_atomically(path, "".join(f"{piece}\n" for piece in pieces).encode())


# Words that each kind learns from, the most frequent; unlimited where statistics of all are used.
LIMITS = {BPE: LEARNED_WORDS}
LEARNERS: dict[str, Callable[..., None]] = {
    BPE: learn_bpe,
    WORDPIECE: learn_wordpiece,
}


class _Writer:
    """File-like object: SentencePiece passes the model to its `write` method."""

    def __init__(self, write: Callable[[bytes], Any]) -> None:
        self.write = write


def most_frequent(counts: Iterable[tuple[str, int]], limit: int | None) -> dict[str, int]:
    """Returns the `limit` most frequent words; a hash chooses among equally frequent ones.

    Memory depends on the limit only.
    """

    def rank(item: tuple[str, int]) -> tuple[int, bytes]:
        word, count = item
        return -count, sentence_key(word)

    return dict(counts if limit is None else heapq.nsmallest(limit, counts, key=rank))


def _ordered(word_counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Returns the counts in an order that is independent of how they were merged."""
    return sorted(word_counts.items(), key=lambda item: (-item[1], item[0]))


def _size_error(vocabulary_size: int, message: str) -> UserError:
    """Translates an error message of SentencePiece."""
    largest = re.search(r"value <= (\d+)", message)
    if largest:
        return VocabularyTooLarge(vocabulary_size, int(largest[1]))
    smallest = re.search(r"required_chars\. \d+ vs (\d+)", message)
    if smallest:
        return _too_small(vocabulary_size, int(smallest[1]))
    return UserError(f"SentencePiece could not learn {vocabulary_size} subwords: {message}")


def _too_small(received: int, smallest: int) -> UserError:
    return UserError(
        f"--vocabulary_size={received} is less than the characters of this corpus require: "
        f"expected at least {smallest}"
    )
