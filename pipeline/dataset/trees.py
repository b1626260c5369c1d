"""Constituency trees as text (§6.3): bracketed, or as words and symbols (Vinyals et al. 2015).

    bracketed   (S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))
    words       The dog sleeps .
    symbols     (S (NP DT NN )NP (VP VBZ )VP . )S

The words are the source of a pair and the symbols its target. A symbol opens a constituent, closes
it, or stands for a word as its part-of-speech tag; it has no space, so it is one subword.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

TREES = "trees"  # the target language of a dataset whose targets are symbols
UNKNOWN_TAG = "XX"  # a word without a tag, or with one that is not in the vocabulary
WRAPPER = "TOP"  # label of a root that only joins several trees; scores ignore it
_PART = re.compile(r"(\([^ ()]+)(?: ([^ ()]+)\))?|(\))")  # a bracket, or a tag with its word
_ESCAPED = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


class Tree(NamedTuple):
    """A tree: the symbols in order, and the words that its tags stand for."""

    symbols: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def tags(self) -> list[str]:
        """Returns the part-of-speech tag of each word."""
        return [symbol for symbol in self.symbols if is_tag(symbol)]

    def brackets(self) -> str:
        """Returns the bracketed tree; brackets within words become -LRB- and -RRB-.

        Example: "(NP (DT The) (NN dog))".
        """
        words = iter(self.words)
        parts = []
        for symbol in self.symbols:
            if opens(symbol):
                parts.append(f" {symbol}")
            elif closes(symbol):
                parts.append(")")
            else:
                parts.append(f" ({symbol} {next(words).translate(_ESCAPED)})")
        return "".join(parts)[1:]


def opens(symbol: str) -> bool:
    """Returns whether a symbol opens a constituent, as "(NP" does."""
    return symbol.startswith("(")


def closes(symbol: str) -> bool:
    """Returns whether a symbol closes a constituent, as ")NP" does."""
    return symbol.startswith(")")


def is_tag(symbol: str) -> bool:
    """Returns whether a symbol stands for a word."""
    return not symbol.startswith(("(", ")"))


def join(symbols: str, words: str) -> Tree:
    """Returns the tree of a pair.

    Args:
        symbols: the target, symbols with spaces between them.
        words: the source, words with spaces between them.

    Raises:
        ValueError: they are not one tree over exactly these words.
    """
    tree = Tree(*(tuple(side.split(" ")) if side else () for side in (symbols, words)))
    if not is_valid(tree.symbols, len(tree.words)):
        raise ValueError(f"Received {symbols!r}; expected one tree over {len(tree.words)} words.")
    return tree


def parse(brackets: str) -> Tree:
    """Returns the tree that `Tree.brackets` wrote.

    Raises:
        ValueError: the text is not such a tree.
    """
    symbols: list[str] = []
    words: list[str] = []
    open_labels: list[str] = []
    for opening, word, closing in _PART.findall(brackets):
        if closing:
            symbols.append(f"){open_labels.pop()}" if open_labels else ")")
        elif word:
            symbols.append(opening[1:])
            words.append(word)
        else:
            symbols.append(opening)
            open_labels.append(opening[1:])
    tree = Tree(tuple(symbols), tuple(words))
    if not is_valid(symbols, len(words)) or tree.brackets() != brackets:
        raise ValueError(f"Received {brackets!r}; expected a tree such as (NP (DT The) (NN dog)).")
    return tree


def is_valid(symbols: Sequence[str], words: int) -> bool:
    """Returns whether symbols are one tree, without empty constituents, over so many words."""
    open_labels: list[str] = []
    roots = leaves = 0
    previous = ""
    for symbol in symbols:
        roots += not open_labels
        if opens(symbol):
            open_labels.append(symbol[1:])
        elif not closes(symbol):
            leaves += 1
        elif not open_labels or open_labels.pop() != symbol[1:] or opens(previous):
            return False
        previous = symbol
    return not open_labels and roots <= 1 and leaves == words
