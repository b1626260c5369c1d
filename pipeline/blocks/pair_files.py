"""The clean pairs of a block, between the stages: a TSV of normalized source and target."""

import itertools
from collections.abc import Sequence

import numpy as np

from pipeline.blocks.heldout_text import Heldout
from pipeline.blocks.repeats import Repeats
from pipeline.cleaning.rules import DUPLICATE, OVERLAP
from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.corpora.blocks import Block
from pipeline.dataset.schema import Pair


def write_clean_pairs(folder: str, name: str, pairs: Sequence[Pair]) -> np.ndarray:
    """Writes a block's normalized pairs, which contain neither tabs nor line ends.

    Returns:
        The byte where each row starts, and the end of the file.
    """
    data = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    write_atomically(f"{folder}/{name}.tsv", data)
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    return np.concatenate([[0], ends])


def read_clean_pairs(folder: str, name: str, limit: int | None = None) -> list[Pair]:
    """Returns a block's clean pairs, at most the first `limit`."""
    with storage.open_file(f"{folder}/{name}.tsv") as file:
        return list(map(parse_row, itertools.islice(file, limit)))


def parse_row(row: bytes) -> Pair:
    """Returns the pair of a row, which includes its line end."""
    source, _, target = row[:-1].decode().partition("\t")
    return source, target


def read_training_pairs(
    folder: str, block: Block, heldout: Heldout, repeats: Repeats | None = None
) -> tuple[list[Pair], dict[str, int]]:
    """Returns a block's clean pairs that training may see, and how many each rule dropped.

    Args:
        folder: where `CleanPairs` wrote.
        block: a block of the training text.
        heldout: what dev and test hold.
        repeats: pairs to leave out because they repeat an earlier one, if any.
    """
    pairs, dropped = read_clean_pairs(folder, block.name), {}
    if repeats:
        rows = repeats.rows(block)
        pairs = [pair for row, pair in enumerate(pairs) if row not in rows]
        dropped[DUPLICATE] = len(rows)
    count = len(pairs)
    if heldout:
        pairs = [pair for pair in pairs if pair[0] not in heldout and pair not in heldout]
    return pairs, {**dropped, OVERLAP: count - len(pairs)}
