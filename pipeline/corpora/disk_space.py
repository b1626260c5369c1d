"""Free disk space, compared with what is going to be written before hours are spent on it."""

import collections
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.progress import format_bytes


def require_space(needs: Mapping[str, int], purpose: str) -> None:
    """Checks that every disk has room for what will be written to folders.

    Args:
        needs: bytes by folder, which may not exist yet; URLs are not checked.
        purpose: who needs the space, such as "--dataset=wmt14_en_de".

    Raises:
        UserError: a disk has less free space; says how much its folders need.
    """
    disks = collections.defaultdict[int, list[str]](list)
    for folder in needs:
        if needs[folder] > 0 and not storage.is_url(folder):
            disks[os.stat(_existing(folder)).st_dev].append(folder)
    for folders in disks.values():
        free = shutil.disk_usage(_existing(folders[0])).free
        if free < sum(needs[folder] for folder in folders):
            wanted = " and ".join(f"{format_bytes(needs[name])} in {name}" for name in folders)
            raise UserError(
                f"{purpose} requires about {wanted}, and {format_bytes(free)} are free there: "
                "free some space, or choose folders on a larger disk"
            )


def bytes_in(folder: str) -> int:
    """Returns the size of all files below a local folder; 0 for a URL or a missing folder."""
    return 0 if storage.is_url(folder) else sum(storage.sizes(folder).values())


def _existing(folder: str) -> Path:
    """Returns a folder, or the nearest one above it that exists."""
    path = Path(folder).absolute()
    return next(place for place in (path, *path.parents) if place.is_dir())
