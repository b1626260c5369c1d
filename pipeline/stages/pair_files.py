"""The clean pairs of a block, between the stages: a TSV of normalized source and target."""

import itertools
from collections.abc import Sequence

from pipeline.cleaning import deduplication
from pipeline.cleaning.rules import DUPLICATE, OVERLAP
from pipeline.common import storage
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import Pair

Heldout = frozenset[str | Pair]  # source sentences and whole pairs that train must not contain


def write_clean_pairs(folder: str, name: str, pairs: Sequence[Pair]) -> None:
    """Writes a block's normalized pairs, which contain neither tabs nor line ends."""
    rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
    write_atomically(f"{folder}/{name}.tsv", rows.encode())


def read_clean_pairs(folder: str, name: str, limit: int | None = None) -> list[Pair]:
    """Returns a block's clean pairs, at most the first `limit`."""
    with storage.open_file(f"{folder}/{name}.tsv") as file:
        rows = [row[:-1].decode().partition("\t") for row in itertools.islice(file, limit)]
    return [(source, target) for source, _, target in rows]


def read_training_pairs(
    folder: str, name: str, heldout: Heldout, *, drop_duplicates: bool = False
) -> tuple[list[Pair], dict[str, int]]:
    """Returns a block's clean pairs that training may see, and how many each rule dropped.

    Args:
        folder: where `CleanPairs` wrote, and `deduplication.mark` if duplicates are dropped.
        name: name of the block.
        heldout: what dev and test hold.
        drop_duplicates: leave out repetitions of an earlier pair of the corpus.
    """
    pairs, dropped = read_clean_pairs(folder, name), {}
    if drop_duplicates:
        repeats = deduplication.read_repeats(folder, name)
        pairs = [pair for pair, is_repeat in zip(pairs, repeats, strict=True) if not is_repeat]
        dropped[DUPLICATE] = sum(repeats)
    count = len(pairs)
    if heldout:
        pairs = [pair for pair in pairs if pair[0] not in heldout and pair not in heldout]
    return pairs, {**dropped, OVERLAP: count - len(pairs)}
