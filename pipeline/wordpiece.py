"""Wordpiece through TensorFlow Text, made lossless with respect to spaces.

Each word is marked with a leading "▁" before it is learned or encoded, so "der Hund." becomes
the pieces "▁der ▁Hund ##." and their join gives back exactly the spaces that were there.
TensorFlow is imported only when wordpiece is used.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

SPECIAL = ("<pad>", "</s>", "<unk>")
MARK, JOINER = "▁", "##"
_MAX_BYTES_PER_WORD = 1000  # longer words become unknown


def tokenizer(pieces: Sequence[str]) -> Any:
    """Returns the TensorFlow Text op for marked words: used here and in the exported graph."""
    import tensorflow_text

    return tensorflow_text.FastWordpieceTokenizer(
        vocab=list(pieces),
        suffix_indicator=JOINER,
        max_bytes_per_word=_MAX_BYTES_PER_WORD,
        unknown_token=SPECIAL[2],
        no_pretokenization=True,
        support_detokenization=True,
    )


def encoder(pieces: Sequence[str]) -> Callable[[list[str]], list[list[int]]]:
    """Returns a function from unmarked words to the ids of each."""
    op = tokenizer(pieces)

    def encode(words: list[str]) -> list[list[int]]:
        return op.tokenize([MARK + word for word in words]).to_list() if words else []

    return encode


def join(pieces: Iterable[str]) -> str:
    """Returns the text of pieces. Example: `["▁der", "▁Hund", "##."]` gives `"der Hund."`."""
    return "".join(piece.removeprefix(JOINER) for piece in pieces).replace(MARK, " ").lstrip(" ")


def learn(word_counts: Mapping[str, int], vocabulary_size: int) -> list[str]:
    """Returns a vocabulary that starts with the special pieces (Schuster & Nakajima 2012)."""
    from tensorflow_text.tools.wordpiece_vocab import wordpiece_tokenizer_learner_lib as learner

    marked = {MARK + word: count for word, count in word_counts.items()}
    characters = sum(len(word) * count for word, count in marked.items())
    alphabet = set().union(*marked)
    pieces = learner.learn(
        marked,
        # The learner adds each character as a first piece too, where only a mark can stand.
        vocab_size=vocabulary_size + len(alphabet),
        reserved_tokens=list(SPECIAL),
        # The learner searches for the least count of a piece; the vocabulary's pieces together
        # cannot occur more often than characters do. Each halving of the range saves seconds.
        upper_thresh=max(2, characters // vocabulary_size),
        lower_thresh=1,
        include_joiner_token=True,
        joiner=JOINER,
    )
    usable = [piece for piece in pieces if piece.startswith((MARK, JOINER))]
    return [*SPECIAL, *(piece for piece in usable if piece != JOINER + MARK)]
