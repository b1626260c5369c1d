"""Staging: the unfinished dataset, in a folder `.staging` inside the output directory.

All files are made there and renamed to their final paths at the end, so readers never accept the
output of a killed run. The next run reuses what a killed run has finished, if the configuration
and the content of the inputs are the same.
"""

import hashlib
import json
from typing import Any

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import COMPLETED, MANIFEST, SPLITS, mark_completed
from pipeline.subwords.encoding import ALL_FILE_NAMES

FOLDER = ".staging"
_KEY = "key.json"
OUR_NAMES = (*SPLITS, *ALL_FILE_NAMES, MANIFEST)  # in a dataset directory
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
        self._work = self.root  # `claim` chooses a folder in it
        try:
            entries = storage.entries(output_dir)
        except NotADirectoryError as error:
            raise UserError(
                f"{output_dir} is a file: expected a directory for --output_dir"
            ) from error
        if entries and FOLDER not in entries:
            raise UserError(
                f"{output_dir} holds files that are not a dataset: expected a new or empty "
                "directory; choose another --output_dir"
            )
        storage.make_folder(self.raw)

    def folder(self, name: str) -> str:
        """Returns a folder of this name for intermediate files, after making it if missing."""
        path = f"{self._work}/{name}"
        storage.make_folder(path)
        return path

    @property
    def raw(self) -> str:
        """Returns the folder of texts cut from inputs that are not seekable."""
        return f"{self.root}/{_RAW}"

    @property
    def final(self) -> str:
        """Returns the folder of finished files, which `publish` moves to the output directory."""
        return self.folder("final")

    def claim(self, key: dict[str, Any]) -> bool:
        """Makes the folder for a run's work, and deletes that of runs with another key.

        A cluster job of such a run that is still alive writes to a folder that nobody reads.

        Args:
            key: everything that determines the result: configuration and identity of the inputs.

        Returns:
            Whether all work is done, and only `publish` remains.
        """
        data = json.dumps(key, sort_keys=True, indent=1).encode()
        name = hashlib.sha256(data).hexdigest()[:_NAME_LENGTH]
        self._work = f"{self.root}/{name}"
        key_path = f"{self._work}/{_KEY}"
        if not storage.is_file(key_path):
            self._delete_other_runs()
            storage.make_folder(self._work)
            write_atomically(key_path, data)
        folders = (self.output, self.final)
        return any(storage.is_file(f"{folder}/{MANIFEST}") for folder in folders)

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


def completed_config(output_dir: str) -> dict[str, Any] | None:
    """Returns the configuration of a complete dataset, or None if there is none."""
    if not storage.is_file(f"{output_dir}/{COMPLETED}"):
        return None
    config = json.loads(storage.read(f"{output_dir}/{MANIFEST}"))["config"]
    storage.delete(f"{output_dir}/{FOLDER}")  # left if the run was killed after completion
    return config
