"""Treebanks as inputs: pairs of words and symbols, for constituency parsing (§6.3)."""

import dataclasses
import glob
import os
from collections.abc import Iterator, Sequence

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags, require, setting
from pipeline.corpora.brackets import read_trees
from pipeline.corpora.inputs import PairTable
from pipeline.corpora.readers import MEMBER_MARK, open_text
from pipeline.dataset.schema import Pair


@dataclasses.dataclass(frozen=True)
class TreebankConfig:
    """Files of bracketed trees, and what a parser predicts of them.

    Raises:
        ValueError: if there are trees to evaluate on, but none to train on.
    """

    trees: tuple[str, ...] = setting(
        (),
        "Bracketed trees to train a parser on (§6.3): the source is the words of a tree, the "
        "target its symbols; files, compressed or not, or patterns such as wsj/0[2-9]/*.mrg.",
    )
    dev_trees: tuple[str, ...] = setting((), "Development trees, in the same form.")
    test_trees: tuple[str, ...] = setting((), "Test trees, in the same form.")
    tree_tags: bool = setting(
        True,
        "Predict part-of-speech tags in place of the words; else XX for every word (Vinyals et al. "
        "2015).",
    )

    def __post_init__(self) -> None:
        for name in ("dev_trees", "test_trees"):
            given = bool(getattr(self, name))
            require(bool(self.trees) or not given, "--trees as well", as_flags(self, name))

    def files(self, split: str) -> tuple[str, ...]:
        """Returns the files and patterns of a split."""
        return {"train": self.trees, "dev": self.dev_trees, "test": self.test_trees}[split]


def treebank_tables(files: Sequence[str], encoding: str) -> list[PairTable]:
    """Returns treebanks as inputs, one for each file or pattern.

    The pairs of an empty tree have two empty sides, which a cleaning rule counts and drops.

    Raises:
        UserError: no file matches a pattern.
    """
    return [_table(pattern, _find_files(pattern), encoding) for pattern in files]


def _table(name: str, addresses: Sequence[str], encoding: str) -> PairTable:
    def read() -> Iterator[Pair]:
        for address in addresses:
            with open_text(address, encoding) as lines:
                for tree in read_trees(lines, address):
                    yield " ".join(tree.words), " ".join(tree.symbols)

    return PairTable(name, read)


def _find_files(pattern: str) -> list[str]:
    """Returns the local files that match, in the order of their names; an address matches itself.

    Raises:
        UserError: no file matches.
    """
    is_address = storage.is_url(pattern) or MEMBER_MARK in pattern or os.path.exists(pattern)
    if is_address or not glob.has_magic(pattern):
        return [pattern]
    found = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))
    if not found:
        raise UserError(f"no file matches {pattern}: expected files of bracketed trees")
    return found
