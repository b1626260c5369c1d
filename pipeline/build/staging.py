"""Staging: the unfinished dataset, in a folder `.staging` inside the output directory.

All files are made there and renamed to their final paths at the end, so readers never accept the
output of a killed run. The next run reuses what a killed run has finished, if the configuration
and the content of the inputs are the same.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.blocks.inventory import KEY, OUR_NAMES
from pipeline.common import lock, storage
from pipeline.common.errors import ResumableError, UserError
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import COMPLETED, MANIFEST, mark_completed

FOLDER = ".staging"
_NAME_LENGTH = 12  # characters of the digest of a run's key, which name its folder
_RAW = "raw"  # text cut from the inputs, before their identity is known


class Staging:
    """The staging folder of one output directory."""

    def __init__(self, output_dir: str) -> None:
        """Makes the folder, in a new or empty directory or in that of an unfinished run.

        Raises:
            UserError: the directory holds other files.
        """
        self.output = output_dir
        self.root = f"{output_dir}/{FOLDER}"
        self.work = self.root  # `claim` chooses a folder in it
        _entries(output_dir)
        storage.make_folder(self.raw)

    @property
    def is_claimed(self) -> bool:
        """Returns whether `claim` has chosen the folder for the run's work."""
        return self.work != self.root

    @property
    def raw(self) -> str:
        """Returns the folder of texts cut from inputs that are not seekable."""
        return f"{self.root}/{_RAW}"

    @property
    def final(self) -> str:
        """Returns the folder of finished files, which `publish` moves to the output directory."""
        return f"{self.work}/final"

    def claim(self, key: dict[str, Any]) -> None:
        """Chooses the folder for a run's work, and deletes that of runs with another key.

        A cluster job of such a run that is still alive writes to a folder that nobody reads.

        Args:
            key: what determines the result, but for the content of the inputs, which
              `blocks.inventory.ClaimFolder` compares.
        """
        data = json.dumps(key, sort_keys=True, indent=1).encode()
        name = hashlib.sha256(data).hexdigest()[:_NAME_LENGTH]
        self.work = f"{self.root}/{name}"
        key_path = f"{self.work}/{KEY}"
        if not storage.is_file(key_path):
            self._delete_other_runs()
            storage.make_folder(self.work)
            write_atomically(key_path, data)

    def publish(self) -> None:
        """Moves the finished files to the output directory and marks it as complete."""
        storage.delete_unfinished(self.output)
        storage.move_entries(self.final, self.output)  # before `COMPLETED`
        mark_completed(self.output)
        storage.delete(self.root)

    def _delete_other_runs(self) -> None:
        """Deletes files of unfinished runs with other keys, also from the output directory."""
        for name in storage.entries(self.root) - {_RAW}:
            storage.delete(f"{self.root}/{name}")
        for name in OUR_NAMES:
            storage.delete(f"{self.output}/{name}")


@contextlib.contextmanager
def open_staging(output_dir: str) -> Iterator[Staging]:
    """Opens the staging folder of an output directory, for one process at a time.

    A mistake in the first run of a directory leaves no trace: the corrected run has another key, so
    it could not use what was left. Any other failure leaves the work, to be continued. Directories
    of object stores are not locked: start only one run there at a time.

    Raises:
        UserError: another process is at work there, or the directory holds other files.
    """
    is_new = not _entries(output_dir)
    with _new_folders(output_dir), _lock(output_dir):
        staging = Staging(output_dir)
        try:
            yield staging
        except Exception as error:
            is_mistake = isinstance(error, UserError) and not isinstance(error, ResumableError)
            if is_new and (is_mistake or not staging.is_claimed):
                storage.delete(staging.root)
            raise


def _entries(output_dir: str) -> set[str]:
    """Returns what is in an output directory; raises UserError if it is not a run's."""
    try:
        entries = storage.entries(output_dir) - {lock.FILE_NAME}
    except NotADirectoryError as error:
        raise UserError(f"{output_dir} is a file: expected a directory for --output_dir") from error
    if entries and FOLDER not in entries:
        raise UserError(
            f"{output_dir} holds files that are not a dataset: expected a new or empty "
            "directory; choose another --output_dir"
        )
    return entries


@contextlib.contextmanager
def _new_folders(path: str) -> Iterator[None]:
    """Makes a local folder and its parents; after a failure, deletes those that it leaves empty."""
    missing: list[Path] = []
    if not storage.is_url(path):
        missing = [folder for folder in (Path(path), *Path(path).parents) if not folder.exists()]
    storage.make_folder(path)
    try:
        yield
    except Exception:
        with contextlib.suppress(OSError):  # not empty
            for folder in missing:
                folder.rmdir()
        raise


@contextlib.contextmanager
def _lock(output_dir: str) -> Iterator[None]:
    """Locks a local output directory; deletes the lock's file afterwards."""
    if storage.is_url(output_dir):
        yield
        return
    remedy = "choose another --output_dir"
    with lock.lock_folder(output_dir, work="preprocessing", remedy=remedy):
        try:
            yield
        finally:
            storage.delete(f"{output_dir}/{lock.FILE_NAME}")


def completed_config(output_dir: str) -> dict[str, Any] | None:
    """Returns the configuration of a complete dataset, or None if there is none."""
    if not storage.is_file(f"{output_dir}/{COMPLETED}"):
        return None
    config = json.loads(storage.read(f"{output_dir}/{MANIFEST}"))["config"]
    for name in (FOLDER, lock.FILE_NAME):  # left if the run was killed after completion
        storage.delete(f"{output_dir}/{name}")
    return config
