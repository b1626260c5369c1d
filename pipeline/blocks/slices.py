"""Files of slices: one file per block whose n-th slice goes to the n-th of many later tasks.

This replaces a shuffle of the data. Where a GroupByKey would carry every key of the corpus (and
Beam's in-process runner would hold all of it in memory, at 4.5 times its bytes), only numbers of
slices cross it, and a task reads its own slice of every block's file.
"""

import struct
from collections.abc import Sequence

from pipeline.common import storage
from pipeline.common.storage import write_atomically

_OFFSET = struct.Struct("<Q")


def write_slices(path: str, slices: Sequence[bytes]) -> None:
    """Writes slices end to end, after the offsets of where they start and end."""
    offsets = [_header_size(len(slices))]
    for data in slices:
        offsets.append(offsets[-1] + len(data))
    write_atomically(path, [_header(len(slices)).pack(*offsets), *slices])


def read_slices(path: str, start: int, stop: int) -> bytes:
    """Returns the slices from `start` to before `stop`, end to end.

    Args:
        path: a file by `write_slices`.
        start: first slice.
        stop: the slice after the last one.
    """
    offsets = _header(stop - start)
    with storage.open_file(path) as file:
        file.seek(_header_size(start) - _OFFSET.size)
        first, *_, last = offsets.unpack(file.read(offsets.size))
        file.seek(first)
        return file.read(last - first)


def _header(number: int) -> struct.Struct:
    return struct.Struct(f"<{number + 1}Q")


def _header_size(number: int) -> int:
    return _header(number).size
