"""An object store in memory, under `mem://`: no folders, no appending, nothing half-written."""

import io
from collections.abc import Iterator
from typing import Any

from apache_beam.io.filesystem import FileMetadata, FileSystem

OBJECTS: dict[str, bytes] = {}


class MemoryFileSystem(FileSystem):
    """Beam's file system for `mem://`; remembers the options of the newest instance."""

    options: Any = None

    def __init__(self, pipeline_options: Any) -> None:
        super().__init__(pipeline_options)
        MemoryFileSystem.options = pipeline_options

    @classmethod
    def scheme(cls) -> str:
        return "mem"

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath, *paths])

    def split(self, path: str) -> tuple[str, ...]:
        return tuple(path.rsplit("/", 1))

    def mkdirs(self, path: str) -> None:
        raise OSError("an object store has no folders")

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        for path, data in sorted(OBJECTS.items()):
            if path.startswith(dir_or_prefix):
                yield FileMetadata(path, len(data), 0.0)

    def create(self, path: str, mime_type: str = "", compression_type: str = "") -> io.BytesIO:
        assert compression_type == "uncompressed", "Beam would compress by suffix"
        return _Upload(path)

    def open(self, path: str, mime_type: str = "", compression_type: str = "") -> io.BufferedReader:
        assert compression_type == "uncompressed", "Beam would decompress by suffix"
        return io.BufferedReader(io.BytesIO(_get(path)))

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, destination in zip(source_file_names, destination_file_names, strict=True):
            OBJECTS[destination] = _get(source)

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, destination in zip(source_file_names, destination_file_names, strict=True):
            self.copy([source], [destination])
            del OBJECTS[source]

    def exists(self, path: str) -> bool:
        return path in OBJECTS

    def size(self, path: str) -> int:
        return len(_get(path))

    def last_updated(self, path: str) -> float:
        return 0.0

    def checksum(self, path: str) -> str:
        return ""

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, self.size(path), 0.0)

    def delete(self, paths: list[str]) -> None:
        for path in paths:
            del OBJECTS[path]


class _Upload(io.BytesIO):
    """A writer whose data becomes an object when it is closed; an abandoned one leaves nothing."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def close(self) -> None:
        if not self.closed:
            OBJECTS[self._path] = self.getvalue()
        super().close()

    def __del__(self) -> None:
        pass  # Python's own would close


def _get(path: str) -> bytes:
    if path not in OBJECTS:
        raise FileNotFoundError(2, "no such object", path)
    return OBJECTS[path]


def objects(folder: str) -> dict[str, bytes]:
    """Returns what is below a URL, by its path from there."""
    start = f"{folder}/"
    return {p.removeprefix(start): data for p, data in OBJECTS.items() if p.startswith(start)}


def upload(url: str, data: bytes) -> str:
    """Makes an object and returns its URL."""
    OBJECTS[url] = data
    return url
