"""The unfinished dataset: a folder `.staging` inside the output directory.

Everything is made there and moved to its place by renames at the very end, so a run killed at any
moment leaves nothing that a reader accepts. What a killed run had finished is used again, as long
as the configuration and the content of the inputs are the same.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from pipeline.errors import UserError
from pipeline.schema import (
    COMPLETED,
    MANIFEST,
    SPLITS,
    TEMPORARY,
    mark_completed,
    write_atomically,
)
from pipeline.subwords import ALL_FILE_NAMES

FOLDER = ".staging"
_KEY = "key.json"
OUR_NAMES = (*SPLITS, *ALL_FILE_NAMES, MANIFEST)  # in a dataset directory
_RAW = "raw"  # cut from the inputs before their identity is known


class Staging:
    """The staging folder of one output directory."""

    def __init__(self, output_dir: str) -> None:
        """Makes the folder, in a new or empty directory or one that an unfinished run left.

        Raises:
          UserError: the directory holds files which are not ours.
        """
        self.output = Path(output_dir)
        self.root = self.output / FOLDER
        if self.output.exists() and not self.output.is_dir():
            raise UserError(f"{output_dir} is a file: expected a directory for --output_dir")
        if self.output.is_dir() and not self.root.exists() and any(self.output.iterdir()):
            raise UserError(
                f"{output_dir} holds files that are no dataset: expected a new or empty "
                "directory; choose another --output_dir"
            )
        self.folder(_RAW)

    def folder(self, name: str) -> str:
        """Returns a folder for one kind of intermediate file, made if missing."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return str(path)

    @property
    def raw(self) -> str:
        """Returns the folder of texts cut from inputs that cannot be sought in."""
        return self.folder(_RAW)

    @property
    def final(self) -> str:
        """Returns the folder whose entries will become the dataset directory's."""
        return self.folder("final")

    def claim(self, key: dict[str, Any]) -> bool:
        """Takes the folder for a run; forgets the work of a run with another key.

        Args:
          key: all that decides the result: configuration and identity of the inputs.

        Returns:
          Whether all work was done before, and only `publish` is left to do.
        """
        path = self.root / _KEY
        data = json.dumps(key, sort_keys=True, indent=1).encode()
        if not path.exists() or path.read_bytes() != data:
            self._forget()
            write_atomically(str(path), data)
        return any((folder / MANIFEST).exists() for folder in (self.output, Path(self.final)))

    def publish(self) -> None:
        """Moves the finished files to their places and marks completion."""
        final = Path(self.final)
        for leftover in (*final.rglob(TEMPORARY), *self.output.glob(TEMPORARY)):
            leftover.unlink()  # of a write in whose middle a run was killed
        for name in os.listdir(final):  # in any order: `COMPLETED` comes after all
            place = self.output / name
            if place.is_dir():
                shutil.rmtree(place)
            os.replace(final / name, place)
        mark_completed(self.output)
        shutil.rmtree(self.root)

    def _forget(self) -> None:
        """Deletes all that unfinished runs of other configurations made, here and outside."""
        for entry in self.root.iterdir():
            if entry.name != _RAW:
                _delete(entry)
        for name in OUR_NAMES:
            _delete(self.output / name)


def completed_config(output_dir: str) -> dict[str, Any] | None:
    """Returns the configuration of the complete dataset in a directory, or None without one."""
    directory = Path(output_dir)
    if not (directory / COMPLETED).exists():
        return None
    config = json.loads((directory / MANIFEST).read_bytes())["config"]
    shutil.rmtree(directory / FOLDER, ignore_errors=True)  # of a run killed just after the end
    return config


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
