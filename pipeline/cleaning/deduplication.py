"""Duplicates: which pairs repeat an earlier one, found in bounded memory.

`CleanPairs` leaves each block's pair keys in a file of 8 bytes a pair. The keys are compared in
groups by their value, a group at a time, so however large the corpus is, memory holds one group.
The first pair in corpus order stays: the result does not depend on blocks, workers or engines.
Two different pairs share a key with probability n² / 2⁶⁵: 4e-5 for 36 million pairs.
"""

import math
import tempfile
from collections.abc import Sequence

import numpy as np

from pipeline.common import storage
from pipeline.common.storage import write_atomically

_PAIRS_TOGETHER = 1 << 22  # with their positions and order about 300 MiB


def write_keys(folder: str, name: str, keys: Sequence[bytes]) -> None:
    """Writes the 8-byte keys of a block's pairs, in their order."""
    write_atomically(f"{folder}/{name}.keys", b"".join(keys))


def mark(folder: str, names: Sequence[str], pairs_together: int = _PAIRS_TOGETHER) -> None:
    """Writes for every block which of its pairs repeat an earlier one, unless that was done.

    Args:
        folder: where `write_keys` wrote, and where a file of one byte a pair is written.
        names: of the blocks, in corpus order.
        pairs_together: pairs to compare at once, on average.
    """
    sizes = storage.sizes(folder)
    if all(f"{name}.repeats" in sizes for name in names):
        return
    counts = [sizes[f"{name}.keys"] // 8 for name in names]
    starts = np.cumsum([0, *counts])
    repeats = _make_marks(counts)
    groups = math.ceil(sum(counts) / pairs_together)
    for group in range(groups):
        keys, positions = _group(folder, names, starts, group, groups)
        first = np.unique(keys, return_index=True)[1]  # the first of equal keys
        repeated = np.ones(len(keys), bool)
        repeated[first] = False
        repeats[positions[repeated]] = 1
    for name, start, count in zip(names, starts, counts, strict=False):
        write_atomically(f"{folder}/{name}.repeats", repeats[start : start + count].tobytes())


def read_repeats(folder: str, name: str) -> bytes:
    """Returns a byte for each pair of a block: 1 if it repeats an earlier one, else 0."""
    return storage.read(f"{folder}/{name}.repeats")


def _make_marks(counts: Sequence[int]) -> np.memmap:
    """Returns a byte for each pair, 0, in a local file so as not to grow with the corpus in memory.

    The zeros are written, not left out: else a full disk would show as a SIGBUS, not an OSError.
    """
    with tempfile.TemporaryFile() as file:  # lives as long as it is mapped
        for count in counts:
            file.write(bytes(count))
        file.write(b"\0")  # what is empty cannot be mapped
        return np.memmap(file, np.uint8, "r+")


def _group(
    folder: str, names: Sequence[str], starts: np.ndarray, group: int, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the keys of one group and their positions in the corpus, ascending."""
    keys, positions = [], []
    for name, start in zip(names, starts, strict=False):
        block = np.frombuffer(storage.read(f"{folder}/{name}.keys"), "<u8")
        (rows,) = np.nonzero(block % groups == group)
        keys.append(block[rows])
        positions.append(rows + start)
    return np.concatenate(keys), np.concatenate(positions)
