"""Wordpiece by TensorFlow Text, made lossless with respect to spaces.

Each word gets a leading "▁" before it is learned or encoded: "der Hund." becomes the pieces
"▁der ▁Hund ##.", and joining them restores the spaces. TensorFlow is imported only when wordpiece
is used.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pipeline.common.errors import ResumableError
from pipeline.common.silence import silent_tensorflow

SPECIAL = ("<pad>", "</s>", "<unk>")
MARK, JOINER = "▁", "##"
_MAX_BYTES_PER_WORD = 1000  # longer words become unknown


def tokenizer(pieces: Sequence[str]) -> Any:
    """Returns the TensorFlow Text op for marked words: used here and in the exported graph.

    Raises:
        ResumableError: TensorFlow Text is not installed.
    """
    try:
        with silent_tensorflow():
            import tensorflow_text
    except ImportError as error:
        raise ResumableError(
            f"wordpieces require TensorFlow Text ({error}): pip install tensorflow-text, here and "
            "on workers"
        ) from error

    return tensorflow_text.FastWordpieceTokenizer(
        vocab=list(pieces),
        suffix_indicator=JOINER,
        max_bytes_per_word=_MAX_BYTES_PER_WORD,
        unknown_token=SPECIAL[2],
        no_pretokenization=True,
        support_detokenization=True,
    )


def encoder(pieces: Sequence[str]) -> Callable[[list[str]], list[list[int]]]:
    """Returns a function that maps unmarked words to the ids of each."""
    op = tokenizer(pieces)

    def encode(words: list[str]) -> list[list[int]]:
        return op.tokenize([MARK + word for word in words]).to_list() if words else []

    return encode


def join(pieces: Iterable[str]) -> str:
    """Returns the text of pieces. Example: `["▁der", "▁Hund", "##."]` gives `"der Hund."`."""
    return "".join(map(text_of_piece, pieces)).lstrip(" ")


def text_of_piece(piece: str) -> str:
    """Returns what a piece adds to a text: a space before a word, and before an unknown one."""
    marked = MARK + piece if piece == SPECIAL[2] else piece
    return marked.removeprefix(JOINER).replace(MARK, " ")
