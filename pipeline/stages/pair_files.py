"""The clean pairs of a block, between the stages: a TSV of normalised source and target."""

import itertools
from collections.abc import Sequence

from pipeline.cleaning import deduplication
from pipeline.cleaning.rules import DUPLICATE, OVERLAP
from pipeline.common import storage
from pipeline.common.storage import write_atomically

Pair = tuple[str, str]
Heldout = frozenset[str | Pair]  # source sentences and whole pairs that train must not contain


def write_pairs(folder: str, name: str, pairs: Sequence[Pair]) -> None:
    """Writes normalised pairs, which hold neither tab nor line end, as TSV."""
    rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
    write_atomically(f"{folder}/{name}.tsv", rows.encode())


def read_pairs(folder: str, name: str, first: int | None = None) -> list[Pair]:
    """Returns the pairs, or the first few of the pairs, which `write_pairs` wrote."""
    with storage.open_file(f"{folder}/{name}.tsv") as file:
        rows = [row[:-1].decode().partition("\t") for row in itertools.islice(file, first)]
    return [(source, target) for source, _, target in rows]


def training_pairs(
    folder: str, name: str, heldout: Heldout, *, drop_duplicates: bool = False
) -> tuple[list[Pair], dict[str, int]]:
    """Returns a block's clean pairs that training may see, and how many each rule dropped.

    Args:
      folder: where `write_pairs` wrote, and `duplicates.mark` if duplicates are dropped.
      name: of the block.
      heldout: what dev and test hold.
      drop_duplicates: leave out what repeats an earlier pair of the corpus.
    """
    pairs, dropped = read_pairs(folder, name), {}
    if drop_duplicates:
        repeats = deduplication.read_repeats(folder, name)
        pairs = [pair for pair, repeat in zip(pairs, repeats, strict=True) if not repeat]
        dropped[DUPLICATE] = sum(repeats)
    seen = len(pairs)
    if heldout:
        pairs = [pair for pair in pairs if pair[0] not in heldout and pair not in heldout]
    return pairs, {**dropped, OVERLAP: seen - len(pairs)}
