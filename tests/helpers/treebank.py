"""A small treebank with functions, indices, traces and outer brackets, as the Penn Treebank's."""

import gzip
from pathlib import Path

NOUNS = ("dogs", "cats", "birds", "girls", "boys", "bears", "foxes", "horses")


def bracketed_trees(count: int) -> list[str]:
    """Returns `count` different trees, over several lines each."""
    return [_sentence([int(digit) for digit in f"{number:o}"]) for number in range(count)]


def write_treebank(path: Path, count: int = 300, extra: str = "") -> str:
    """Writes a compressed file of trees, then `extra`; returns its path."""
    text = "".join(f"{tree}\n" for tree in bracketed_trees(count))
    path.write_bytes(gzip.compress(f"# A comment (\n{text}{extra}".encode()))
    return str(path)


def _sentence(digits: list[int]) -> str:
    """Returns a sentence about one noun per digit, the later ones in phrases within phrases."""
    nouns = [f"(NP (NNS {NOUNS[digit]}))" for digit in digits]
    phrase = nouns.pop()
    while nouns:
        inner = f"(CC and) {phrase}" if len(nouns) % 2 else f"(PP-LOC (IN near) {phrase})"
        phrase = f"(NP {nouns.pop()} {inner})"
    verb = "(VP (VBP run) (S (NP-SBJ (-NONE- *-1)) (ADVP (RB fast))))"
    return f"( (S (NP-SBJ-1 {phrase})\n     {verb} (. .)) )"
