"""Files of datasets, of their staging and of inputs: the one place that touches them.

A path without `://` is local, and plain operations of the system serve it. Any other, such as
`gs://bucket/name` or `s3://bucket/name`, goes through Beam's FileSystems, imported only then. Such
a store has neither folders nor half-written files: an object appears when its writer is closed.
"""

import contextlib
import errno
import functools
import glob
import io
import itertools
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError

_URL_MARK = "://"
_UNFINISHED = ".tmp"  # suffix of local files until they are whole
_options = "{}"  # of Beam's file systems, as JSON


def is_url(path: str | Path) -> bool:
    """Returns whether a path is not local."""
    return _URL_MARK in str(path)


def connect(options: Mapping[str, Any]) -> None:
    """Takes the pipeline options that file systems need, such as `s3_endpoint_url`.

    The driver has them from its command line; not every engine tells them to its workers.
    """
    global _options
    _options = json.dumps(options, default=str, sort_keys=True)


def open_file(path: str | Path) -> io.BufferedReader:
    """Opens a file for reading, as it is, compressed or not.

    Raises:
      OSError: it is missing or cannot be read; names the path.
    """
    if not is_url(path):
        return open(path, "rb")
    with _explained(path):
        return _file_system(path).open(str(path), compression_type="uncompressed")


def read(path: str | Path) -> bytes:
    """Returns the content of a file."""
    with _explained(path), open_file(path) as file:
        return file.read()


def read_range(path: str | Path, start: int, size: int) -> bytes:
    """Returns `size` bytes of a file from byte `start` on, fewer at its end."""
    with _explained(path), open_file(path) as file:
        file.seek(start)
        return file.read(size)


def write_atomically(path: str | Path, data: bytes | Iterable[bytes]) -> None:
    """Writes a file which exists either whole or not at all, whenever the process is killed.

    Data of any size may come in parts.
    """
    parts = filter(None, [data] if isinstance(data, bytes) else data)
    if is_url(path):
        with _explained(path):
            _write_object(str(path), parts)
        return
    temporary = f"{path}.{uuid.uuid4().hex}{_UNFINISHED}"  # retries on other workers share none
    try:
        with open(temporary, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)  # a full disk needs the room
        raise


def is_file(path: str | Path) -> bool:
    """Returns whether there is a file."""
    if not is_url(path):
        return os.path.isfile(path)
    with _explained(path):
        return _file_system(path).exists(str(path))


def sizes(folder: str | Path) -> dict[str, int]:
    """Returns the bytes of each file anywhere below a folder, by its path from there."""
    if is_url(folder):
        return _objects(folder)
    files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return {file.relative_to(folder).as_posix(): file.stat().st_size for file in files}


def entries(folder: str | Path) -> set[str]:
    """Returns the names of the files and folders in a folder; of a missing one, nothing."""
    if is_url(folder):
        return {path.partition("/")[0] for path in _objects(folder)}
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return set()


def make_folder(path: str | Path) -> None:
    """Makes a folder and those above it, where files need one and it is missing."""
    if not is_url(path):
        os.makedirs(path, exist_ok=True)


def delete(path: str | Path) -> None:
    """Deletes a file, or a folder with all that it holds, if there is one."""
    if is_url(path):
        found = [f"{path}/{name}" for name in _objects(path)]
        found += [str(path)] if is_file(path) else []
        if found:
            with _explained(path):
                _file_system(path).delete(found)
    elif os.path.isdir(path):
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)


def delete_unfinished(folder: str | Path) -> None:
    """Deletes what writes left, anywhere below a folder, in whose middle a run was killed."""
    if not is_url(folder):
        for leftover in Path(folder).rglob(f"*{_UNFINISHED}"):
            leftover.unlink()


def move_entries(source: str | Path, target: str | Path) -> None:
    """Moves everything in one folder to another; what a kill leaves there, the next call moves."""
    if is_url(source):
        if names := list(_objects(source)):
            with _explained(source):
                _file_system(source).rename(
                    [f"{source}/{name}" for name in names], [f"{target}/{name}" for name in names]
                )
        return
    for name in os.listdir(source):
        place = Path(target, name)
        if place.is_dir():
            shutil.rmtree(place)
        os.replace(Path(source, name), place)


def _write_object(url: str, parts: Iterator[bytes]) -> None:
    file_system = _file_system(url)
    first = next(parts, b"")
    if not first and url.startswith("s3:"):  # Beam ends an upload of no parts, which S3 refuses
        from apache_beam.io.aws import s3io

        bucket, key = s3io.parse_s3_path(url)
        client = s3io.S3IO(options=_pipeline_options(_options)).client.client
        client.put_object(Bucket=bucket, Key=key, Body=first)
        return
    file = file_system.create(url, compression_type="uncompressed")
    for part in itertools.chain([first], parts):
        file.write(part)
    file.close()  # the object appears; after a failed write, this is not reached


def _objects(folder: str | Path) -> dict[str, int]:
    """Returns the bytes of each object below a URL, by its path from there."""
    with _explained(folder):
        (match,) = _file_system(folder).match([f"{glob.escape(str(folder))}/**"])
    found = match.metadata_list
    return {each.path.removeprefix(f"{folder}/"): each.size_in_bytes for each in found}


def _file_system(path: str | Path) -> Any:
    from apache_beam.io.filesystems import FileSystems

    FileSystems.set_options(_pipeline_options(_options))
    try:
        return FileSystems.get_filesystem(str(path))
    except ValueError as error:
        raise UserError(
            f"received {path}: Beam has no such file system here; pip install 'apache-beam[gcp]' "
            "for gs://, 'apache-beam[aws]' for s3://"
        ) from error


@functools.lru_cache(maxsize=1)
def _pipeline_options(options: str) -> Any:
    from apache_beam.options.pipeline_options import PipelineOptions

    return PipelineOptions([], **json.loads(options))


@contextlib.contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """Turns whatever the library of a store raises into an OSError that names the path."""
    try:
        yield
    except Exception as error:
        if not is_url(path) or isinstance(error, UserError) or getattr(error, "filename", None):
            raise  # which says enough
        number = getattr(error, "errno", None) or errno.EIO
        raise OSError(number, str(error), str(path)) from error
