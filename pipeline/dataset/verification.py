"""Verification of a dataset's files by their checksums."""

import hashlib
from collections.abc import Iterator

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset


def verify(dataset: Dataset) -> int:
    """Compares every file with its recorded SHA-256; returns the number of files.

    `load_dataset` has already compared the manifest with `COMPLETED`.

    Raises:
        UserError: files are damaged or missing; names them.
    """
    files = list(_recorded(dataset))
    damaged = [path for path, sha256 in files if not _is_intact(dataset.path(path), sha256)]
    if damaged:
        raise UserError(
            f"{dataset.directory}: {len(damaged)} of {len(files)} files do not match their "
            f"checksum: {', '.join(damaged)}; delete the directory and preprocess again"
        )
    return len(files)


def _recorded(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Yields the path and SHA-256 of every file but the manifest."""
    vocabularies = dataset.vocabularies.values()
    yield from sorted({(vocabulary.path, vocabulary.sha256) for vocabulary in vocabularies})
    for split in dataset.splits.values():
        if split.source_text and split.source_sha256:
            yield split.source_text, split.source_sha256
        if split.target_text and split.target_sha256:
            yield split.target_text, split.target_sha256
        for shard in split.shards:
            yield shard.path, shard.sha256
        for file in split.clean_text:
            yield file.path, file.sha256


def _is_intact(path: str, sha256: str) -> bool:
    """Returns whether a file exists and has this checksum."""
    try:
        with storage.open_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False
