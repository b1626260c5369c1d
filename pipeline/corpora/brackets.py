r"""Reader of treebank files: bracketed trees, as the Penn Treebank has them, to words and symbols.

    ( (S (NP-SBJ-1 (DT The) (NN dog)) (VP (VBZ sleeps) (NP (-NONE- *T*-1))) (. .)) )

A file holds any number of trees, on one line or several. Every tree is normalized:

| what | becomes |
|---|---|
| functions and indices, `NP-SBJ-1`, `NP=2` | cut, `NP`; labels such as `-LRB-` stay |
| traces, `(-NONE- *T*-1)`, and constituents without a word | removed |
| an outer bracket, without a label or `TOP`, `ROOT`, `S1` | removed; around several trees, `TOP` |

Outside of trees, a line that begins with `#`, `;`, `%` or `*x*` is a comment.
"""

import re
from collections.abc import Iterable, Iterator

from pipeline.common.errors import UserError
from pipeline.dataset.trees import WRAPPER, Tree, closes, opens

_TOKEN = re.compile(r"[()]|[^() \t\n\r\f\v]+")
_COMMENT = re.compile(r"\s*([#;%]|\*x\*)")
_TRACE = "-NONE-"
_OUTER = frozenset({"", WRAPPER, "ROOT", "S1"})  # labels of brackets around whole trees


def read_trees(lines: Iterable[str], address: str) -> Iterator[Tree]:
    """Yields the normalized trees of a file; one without words has no symbols either.

    Args:
        lines: of the file.
        address: its name, for error messages.

    Raises:
        UserError: brackets are unbalanced, or text is not a tree; names file and line.
    """
    builder = _Builder(address)
    for number, line in enumerate(lines, 1):
        if not builder.is_inside and _COMMENT.match(line):
            continue
        for token in _TOKEN.findall(line):
            builder.add(token, number)
            if not builder.is_inside:
                yield builder.finish()
    if builder.is_inside:
        raise builder.error(builder.first_line, "the file ends inside the tree that begins here")


class _Node:
    """An open bracket.

    start: number of symbols before it.
    label: None until it is read, or has turned out to be missing.
    """

    def __init__(self, start: int, line: int) -> None:
        self.start = start
        self.line = line
        self.label: str | None = None
        self.word: str | None = None
        self.has_brackets = False


class _Builder:
    """Builds one tree after another, token by token."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._open: list[_Node] = []
        self._symbols: list[str] = []
        self._words: list[str] = []
        self.first_line = 0  # of the tree

    @property
    def is_inside(self) -> bool:
        """Whether a tree has begun and not ended."""
        return bool(self._open)

    def error(self, line: int, problem: str) -> UserError:
        """Returns the error of a place in the file."""
        return UserError(
            f"{self._address}, line {line}: {problem}; expected bracketed trees, such as "
            "(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)))"
        )

    def add(self, token: str, line: int) -> None:
        """Adds a bracket, a label or a word."""
        if token == "(":
            self._begin(line)
        elif not self._open:
            problem = "a closing bracket too many" if token == ")" else f"text, {token[:40]!r},"
            raise self.error(line, f"{problem} outside of a tree")
        elif token == ")":
            self._end(line)
        else:
            self._add_text(token, line)

    def finish(self) -> Tree:
        """Returns the tree that has ended, and begins another."""
        tree = Tree(tuple(_strip_outer(self._symbols)), tuple(self._words))
        self._symbols, self._words = [], []
        return tree

    def _begin(self, line: int) -> None:
        if self._open:
            parent = self._open[-1]
            if parent.word is not None:
                raise self.error(line, f"a bracket after the word {parent.word!r}")
            if parent.label is None:
                self._set_label(parent, "")
            parent.has_brackets = True
        else:
            self.first_line = line
        self._open.append(_Node(len(self._symbols), line))

    def _add_text(self, text: str, line: int) -> None:
        node = self._open[-1]
        if node.label is None:
            self._set_label(node, text)
        elif node.word is None and not node.has_brackets:
            node.word = text
        else:
            raise self.error(line, f"a second text, {text[:40]!r}, in one bracket")

    def _set_label(self, node: _Node, label: str) -> None:
        if label in _OUTER and len(self._open) > 1:
            raise self.error(
                node.line,
                f"a tree begins inside the tree from line {self.first_line}, which lacks a closing "
                "bracket",
            )
        node.label = label
        self._symbols.append(f"({_plain(label)}")

    def _end(self, line: int) -> None:
        node = self._open.pop()
        if node.word is not None:
            del self._symbols[node.start :]
            if node.label != _TRACE:
                self._symbols.append(_plain(node.label or ""))
                self._words.append(node.word)
        elif len(self._symbols) <= node.start + 1:  # a constituent without a word
            del self._symbols[node.start :]
        else:
            self._symbols.append(f"){_plain(node.label or '')}")


def _plain(label: str) -> str:
    """Returns a label without functions and indices."""
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0] or label


def _strip_outer(symbols: list[str]) -> list[str]:
    """Removes a bracket around one tree; one around several becomes `TOP`."""
    if not symbols or not opens(symbols[0]) or symbols[0][1:] not in _OUTER:
        return symbols
    inner = symbols[1:-1]
    depth = roots = 0
    for symbol in inner:
        roots += not depth
        depth += opens(symbol) - closes(symbol)
    return inner if roots == 1 else [f"({WRAPPER}", *inner, f"){WRAPPER}"]
