"""Deduplication: the pairs that repeat an earlier one, found in bounded memory.

`CleanPairs` writes the keys of each block's pairs in ascending order, so that a range of keys is a
slice of every block's file. The slices of one range are compared together: equal pairs have equal
keys, so no two ranges share a pair, and the number of ranges grows with the corpus. The first pair
in corpus order is kept: the result is independent of blocks, workers and engines. The probability
that any two different pairs of n share a key is n² / 2⁶⁵: 4e-5 for 36 million.
"""

from collections.abc import Sequence

import numpy as np

MOST_RANGES = 1024  # a power of 2: what a block's keys are divided into
_PAIRS_TOGETHER = 1 << 21  # about 80 MiB with their places and order

KEYED = np.dtype([("key", "<u8"), ("row", "<u4")])  # key of a pair, its row in the block


def divide_keys(keys: Sequence[bytes]) -> list[bytes]:
    """Returns the `KEYED` records of a block's pairs, by range of keys.

    Args:
        keys: 8 bytes of each pair, in the order of the pairs.
    """
    values = np.frombuffer(b"".join(keys), "<u8")
    order = np.argsort(values, kind="stable")  # equal keys stay in the order of their rows
    records = np.empty(len(values), KEYED)
    records["key"], records["row"] = values[order], order
    bounds = np.arange(1, MOST_RANGES, dtype=np.uint64) * np.uint64(2**64 // MOST_RANGES)
    return [part.tobytes() for part in np.split(records, np.searchsorted(records["key"], bounds))]


def count_ranges(pairs: int) -> int:
    """Returns into how many ranges to divide the keys of a corpus: a power of 2."""
    ranges = 1
    while ranges < MOST_RANGES and ranges * _PAIRS_TOGETHER < pairs:
        ranges *= 2
    return ranges


def find_repeats(slices: Sequence[bytes]) -> list[bytes]:
    """Returns for each block the rows, as 4-byte numbers, of pairs that repeat an earlier one.

    Example: keys `[a, a, b]` of the rows 0, 2 and 1 and `[b, c]` of the rows 1 and 0 give the rows
    `[2]` of the first block and `[1]` of the second.

    Args:
        slices: `KEYED` records of each block in corpus order, all of one range of keys.
    """
    blocks = [np.frombuffer(data, KEYED) for data in slices]
    records = np.concatenate(blocks)
    _, first = np.unique(records["key"], return_index=True)  # the first of equal keys
    is_repeat = np.ones(len(records), bool)
    is_repeat[first] = False
    ends = np.cumsum([len(block) for block in blocks])[:-1]
    return [
        block["row"][repeats].tobytes()
        for block, repeats in zip(blocks, np.split(is_repeat, ends), strict=True)
    ]
