"""Candidates for dev and test: the pairs whose source sentences have the smallest keys.

A hash of the source sentence decides which pairs are held out, independent of their order, the
number of blocks and the engine. A block's candidates are packed in an array, as are those of many
blocks, of which only the smallest are kept.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from pipeline.cleaning import normalization
from pipeline.common import storage
from pipeline.corpora.blocks import Block
from pipeline.dataset.schema import Pair

# A source sentence: its key, its copies, and where its first pair is: block, byte and bytes of the
# row in the block's TSV.
CANDIDATE = np.dtype(
    [("key", ">u8"), ("copies", "<u8"), ("block", "<u4"), ("start", "<u8"), ("size", "<u4")]
)


def candidates_path(folder: str, block: Block) -> str:
    """Returns the file of a block's candidates."""
    return f"{folder}/{block.name}.candidates"


def read_candidates(folder: str, block: Block) -> bytes:
    """Returns the packed candidates that `CleanPairs` wrote for a block."""
    return storage.read(candidates_path(folder, block))


def find_candidates(
    block: int, pairs: Sequence[Pair], starts: np.ndarray, number: int
) -> np.ndarray:
    """Returns the `number` source sentences of a block that have the smallest keys.

    Args:
        block: index of the block.
        pairs: its clean pairs.
        starts: the byte where each pair's row starts, and the end of the file.
        number: how many to return, fewer if there are no more.
    """
    keys = np.frombuffer(b"".join(normalization.sentence_key(s) for s, _ in pairs), ">u8")
    unique, first_rows, copies = np.unique(keys, return_index=True, return_counts=True)
    rows = first_rows[:number]
    candidates = np.zeros(len(rows), CANDIDATE)
    candidates["key"], candidates["copies"] = unique[:number], copies[:number]
    candidates["block"], candidates["start"] = block, starts[rows]
    candidates["size"] = starts[rows + 1] - starts[rows]
    return candidates


def merge_candidates(parts: Iterable[bytes], number: int) -> bytes:
    """Returns the `number` sentences with the smallest keys, ascending, of several blocks.

    Copies in different blocks are added, and the first block's pair is kept.
    """
    together = np.frombuffer(b"".join(parts), CANDIDATE)
    together = together[np.lexsort((together["block"], together["key"]))]
    keys, first, groups = np.unique(together["key"], return_index=True, return_inverse=True)
    merged = together[first]
    merged["copies"] = np.bincount(groups, together["copies"], len(keys))
    return merged[:number].tobytes()
