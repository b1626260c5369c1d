"""Repair: any symbols become one tree over exactly the words of a sentence (§6.3).

A parser that generates symbols one by one may break off, or count the words wrong. The rules, which
change nothing in a valid tree:

| symbols | become |
|---|---|
| a closing bracket | closes the innermost open constituent, whatever its label |
| a closing bracket with no open constituent, or of the root before the last word | dropped |
| a constituent without a word | dropped |
| more tags than words | dropped |
| fewer tags than words | the unknown tag for each word left, in the innermost open constituent |
| constituents left open | closed |
| several words without a root | a root `TOP`, which scores ignore |

`trainer.inference.tree_ops` follows the same rules in TensorFlow.
"""

from collections.abc import Sequence

from pipeline.dataset.trees import UNKNOWN_TAG, WRAPPER, Tree, closes, opens


def repair(symbols: Sequence[str], words: Sequence[str]) -> Tree:
    """Returns the tree of symbols over words; without a word, the empty tree.

    Example:
        >>> repair(["(S", "(NP", "DT", ")S"], ["The", "dog", "sleeps"]).brackets()
        '(S (NP (DT The)) (XX dog) (XX sleeps))'
    """
    builder = _Builder(len(words))
    for symbol in symbols:
        builder.add(symbol)
    return Tree(tuple(builder.finish()), tuple(words))


class _Builder:
    """Builds the symbols of a tree over a given number of words."""

    def __init__(self, words: int) -> None:
        self._words = words
        self._symbols: list[str] = []
        self._open: list[str] = []  # labels
        self._tags = 0

    def add(self, symbol: str) -> None:
        """Adds a symbol as far as it fits."""
        if opens(symbol):
            self._begin(symbol)
        elif closes(symbol):
            self._end()
        else:
            self._add_tag(symbol)

    def finish(self) -> list[str]:
        """Returns the symbols, after adding those that are missing."""
        while self._tags < self._words:
            self._add_tag(UNKNOWN_TAG)
        while self._open:
            self._end()
        return self._symbols

    def _begin(self, symbol: str) -> None:
        self._open.append(symbol[1:])
        self._symbols.append(symbol)

    def _add_tag(self, tag: str) -> None:
        if self._tags == self._words:
            return
        if not self._open and self._words > 1:
            self._begin(f"({WRAPPER}")
        self._tags += 1
        self._symbols.append(tag)

    def _end(self) -> None:
        is_root = len(self._open) == 1
        if not self._open or (is_root and self._tags < self._words):
            return
        label = self._open.pop()
        if opens(self._symbols[-1]):  # a constituent without a word
            self._symbols.pop()
        else:
            self._symbols.append(f"){label}")
