"""A lock between processes, which ends with the process that holds it, however that ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from absl import logging

from pipeline.common.errors import UserError

FILE_NAME = ".lock"


@contextlib.contextmanager
def lock_folder(folder: str | Path, *, work: str, remedy: str) -> Iterator[None]:
    """Locks a local folder against other processes, by the file `.lock` in it, which stays.

    On file systems without locks it warns instead.

    Args:
        folder: an existing folder.
        work: what one process at a time may do there, such as "training".
        remedy: what to do if another process does, after "wait for it, stop it, or".

    Raises:
        UserError: another process holds the lock.
    """
    path = Path(folder, FILE_NAME)
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        except BlockingIOError:
            is_free = False
        except OSError as error:
            is_free = True
            logging.warning(
                "%s cannot be locked (%s): start only one %s there at a time", folder, error, work
            )
        if not is_free:  # or its holder has just deleted the file
            raise UserError(
                f"another process is {work} in {folder}: wait for it, stop it, or {remedy}"
            )
        yield
