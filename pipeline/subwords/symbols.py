"""The vocabulary of trees: every symbol of the training trees is a piece, so none is divided."""

from collections.abc import Mapping

from pipeline.common.storage import write_atomically
from pipeline.dataset.trees import UNKNOWN_TAG, is_tag

RESERVED = ("<pad>", "</s>", UNKNOWN_TAG)  # ids 0, 1 and 2


def write(counts: Mapping[str, int], path: str, *, tags: bool) -> None:
    """Writes a vocabulary, one symbol per line, the most frequent first.

    Args:
        counts: occurrences of each symbol.
        path: file to write, atomically.
        tags: whether to include part-of-speech tags; without them all words have the unknown tag.
    """
    chosen = [symbol for symbol in counts if symbol != UNKNOWN_TAG and (tags or not is_tag(symbol))]
    common_first = sorted(chosen, key=lambda symbol: (-counts[symbol], symbol))
    write_atomically(path, "".join(f"{piece}\n" for piece in (*RESERVED, *common_first)).encode())
