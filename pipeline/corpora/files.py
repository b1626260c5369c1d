"""The bytes of an input, wherever it lies: a file, compressed or not, or a member of an archive.

An input is named by an address, as a user writes it: `text.en`, `gs://bucket/text.en.xz`, or
`corpus.tgz::training/text.en.gz` for a member of a tar or zip archive.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.archives import is_archive, open_member
from pipeline.corpora.compression import decompress, explain_broken, is_compressed

MEMBER_MARK = "::"


@contextlib.contextmanager
def open_bytes(address: str) -> Iterator[BinaryIO]:
    """Opens an address for reading; compression is undone, by suffix.

    Raises:
      UserError: nothing is there; or, also later while reading, it is broken.
    """
    path, mark, member = address.partition(MEMBER_MARK)
    if not storage.is_file(path):
        raise UserError(f"no file {path}: expected text, plain or compressed, or an archive")
    if is_archive(path) and not mark:
        raise UserError(f"{path} is an archive: name a file in it, {path}{MEMBER_MARK}folder/file")
    with explain_broken(path), contextlib.ExitStack() as stack:
        if mark:
            file = stack.enter_context(open_member(path, member))
        else:
            file = stack.enter_context(storage.open_file(path))
        yield stack.enter_context(decompress(file, address))


def format_suffix(address: str) -> str:
    """Returns the suffix below any compression. Example: `a.tgz::b/c.tsv.gz` gives `.tsv`."""
    stem = os.path.splitext(address)[0] if is_compressed(address) else address
    return os.path.splitext(stem)[1].lower()
