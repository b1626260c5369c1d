"""The unfinished dataset: a folder `.staging` inside the output directory.

Everything is made there and moved to its place by renames at the very end, so a run killed at any
moment leaves nothing that a reader accepts. What a killed run had finished is used again, as long
as the configuration and the content of the inputs are the same.
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
_NAME_LENGTH = 12  # of the folder of a run, the start of its key's digest
_RAW = "raw"  # cut from the inputs before their identity is known


class Staging:
    """The staging folder of one output directory."""

    def __init__(self, output_dir: str) -> None:
        """Makes the folder, in a new or empty directory or one that an unfinished run left.

        Raises:
            UserError: the directory holds files which are not ours.
        """
        self.output = output_dir
        self.root = f"{output_dir}/{FOLDER}"
        self._work = self.root  # a folder in it, once it is claimed
        try:
            found = storage.entries(output_dir)
        except NotADirectoryError as error:
            raise UserError(
                f"{output_dir} is a file: expected a directory for --output_dir"
            ) from error
        if found and FOLDER not in found:
            raise UserError(
                f"{output_dir} holds files that are no dataset: expected a new or empty "
                "directory; choose another --output_dir"
            )
        storage.make_folder(self.raw)

    def folder(self, name: str) -> str:
        """Returns a folder for one kind of intermediate file, made if missing."""
        path = f"{self._work}/{name}"
        storage.make_folder(path)
        return path

    @property
    def raw(self) -> str:
        """Returns the folder of texts cut from inputs that cannot be sought in."""
        return f"{self.root}/{_RAW}"

    @property
    def final(self) -> str:
        """Returns the folder whose entries will become the dataset directory's."""
        return self.folder("final")

    def claim(self, key: dict[str, Any]) -> bool:
        """Makes room for the work of a run; forgets that of runs with another key.

        A job of theirs that still goes on, on a cluster, writes where nobody will look.

        Args:
            key: all that decides the result: configuration and identity of the inputs.

        Returns:
            Whether all work was done before, and only `publish` is left to do.
        """
        data = json.dumps(key, sort_keys=True, indent=1).encode()
        name = hashlib.sha256(data).hexdigest()[:_NAME_LENGTH]
        self._work = f"{self.root}/{name}"
        if not storage.is_file(path := f"{self._work}/{_KEY}"):
            self._forget()
            storage.make_folder(self._work)
            write_atomically(path, data)
        return any(storage.is_file(f"{each}/{MANIFEST}") for each in (self.output, self.final))

    def publish(self) -> None:
        """Moves the finished files to their places and marks completion."""
        storage.delete_unfinished(self.output)
        storage.move_entries(self.final, self.output)  # `COMPLETED` comes after all
        mark_completed(self.output)
        storage.delete(self.root)

    def _forget(self) -> None:
        """Deletes all that unfinished runs of other configurations made, here and outside."""
        for name in storage.entries(self.root) - {_RAW}:
            storage.delete(f"{self.root}/{name}")
        for name in OUR_NAMES:
            storage.delete(f"{self.output}/{name}")


def completed_config(output_dir: str) -> dict[str, Any] | None:
    """Returns the configuration of the complete dataset in a directory, or None without one."""
    if not storage.is_file(f"{output_dir}/{COMPLETED}"):
        return None
    config = json.loads(storage.read(f"{output_dir}/{MANIFEST}"))["config"]
    storage.delete(f"{output_dir}/{FOLDER}")  # of a run killed just after the end
    return config
