"""Whether the files of a dataset are still those that preprocessing wrote."""

import hashlib
from collections.abc import Iterator

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset


def verify(dataset: Dataset) -> int:
    """Compares every file with its recorded SHA-256; returns how many files that were.

    `load_dataset` has compared the manifest with `COMPLETED` already.

    Raises:
        UserError: names the files that are damaged or gone.
    """
    files = list(_recorded(dataset))
    damaged = [path for path, sha256 in files if _sha256(dataset.path(path)) != sha256]
    if damaged:
        raise UserError(
            f"{dataset.directory}: {len(damaged)} of {len(files)} files do not match their "
            f"checksum: {', '.join(damaged)}; delete the directory and preprocess again"
        )
    return len(files)


def _recorded(dataset: Dataset) -> Iterator[tuple[str, str]]:
    yield from sorted({(each.path, each.sha256) for each in dataset.vocabularies.values()})
    for split in dataset.splits.values():
        if split.source_text and split.source_sha256:
            yield split.source_text, split.source_sha256
        if split.target_text and split.target_sha256:
            yield split.target_text, split.target_sha256
        for shard in split.shards:
            yield shard.path, shard.sha256


def _sha256(path: str) -> str | None:
    try:
        with storage.open_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
