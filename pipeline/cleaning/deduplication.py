"""Deduplication: finds the pairs that repeat an earlier one, in bounded memory.

`CleanPairs` writes the keys of each block's pairs, 8 bytes per pair. The keys are partitioned by
their value and compared one group at a time, so memory holds one group for a corpus of any size.
The first pair in corpus order is kept: the result is independent of blocks, workers and engines.
The probability that any two different pairs of n share a key is n² / 2⁶⁵: 4e-5 for 36 million.
"""

import math
import tempfile
from collections.abc import Sequence

import numpy as np

from pipeline.common import storage
from pipeline.common.storage import write_atomically

_PAIRS_TOGETHER = 1 << 22  # about 300 MiB with their positions and order


def write_keys(folder: str, name: str, keys: Sequence[bytes]) -> None:
    """Writes the 8-byte keys of a block's pairs, in the order of the pairs."""
    write_atomically(f"{folder}/{name}.keys", b"".join(keys))


def mark(folder: str, names: Sequence[str], pairs_together: int = _PAIRS_TOGETHER) -> None:
    """Writes for every block which of its pairs repeat an earlier one, unless all are written.

    Example: blocks with the keys `[a, b, a]` and `[c, b]` get the bytes `[0, 0, 1]` and `[0, 1]`.

    Args:
        folder: output folder of `write_keys`, which also receives one byte per pair.
        names: names of the blocks, in corpus order.
        pairs_together: average number of pairs that are compared at once.
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
        _, first = np.unique(keys, return_index=True)  # the first of equal keys
        repeated = np.ones(len(keys), bool)
        repeated[first] = False
        repeats[positions[repeated]] = 1
    for name, start, count in zip(names, starts, counts, strict=False):
        write_atomically(f"{folder}/{name}.repeats", repeats[start : start + count].tobytes())


def read_repeats(folder: str, name: str) -> bytes:
    """Returns a byte for each pair of a block: 1 if it repeats an earlier one, else 0."""
    return storage.read(f"{folder}/{name}.repeats")


def _make_marks(counts: Sequence[int]) -> np.memmap:
    """Returns a zero byte for each pair, in a memory-mapped temporary file.

    The zeros are written: in a sparse file, a full disk would cause SIGBUS instead of an OSError.
    """
    with tempfile.TemporaryFile() as file:  # exists while it is mapped
        for count in counts:
            file.write(bytes(count))
        file.write(b"\0")  # an empty file cannot be mapped
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
