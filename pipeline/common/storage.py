"""File operations on local paths and object stores, for datasets, their staging and inputs.

A path without `://` is local and uses the operating system. Any other path, such as
`gs://bucket/name` or `s3://bucket/name`, uses Beam's FileSystems, imported only when needed. An
object store has neither folders nor half-written files: an object appears when its writer closes.
"""

import contextlib
import errno
import glob
import io
import itertools
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError

_URL_MARK = "://"
_UNFINISHED = ".tmp"  # suffix of local files until they are complete
_beam_options: Mapping[str, Any] = {}  # for Beam's file systems; set by `connect`


def is_url(path: str | Path) -> bool:
    """Returns whether a path is not local."""
    return _URL_MARK in str(path)


def connect(options: Mapping[str, Any]) -> None:
    """Sets the pipeline options of file systems, such as `s3_endpoint_url`, in this process.

    The driver reads them from its command line; not every engine passes them to its workers.
    """
    global _beam_options
    _beam_options = dict(options)


def open_file(path: str | Path) -> io.BufferedReader:
    """Opens a file for reading; compressed data stays compressed.

    Raises:
        OSError: it is missing or cannot be read; names the path.
    """
    if not is_url(path):
        return open(path, "rb")
    with _errors_with_path(path):
        return _file_system(path).open(str(path), compression_type="uncompressed")


def read(path: str | Path) -> bytes:
    """Returns the content of a file."""
    with _errors_with_path(path), open_file(path) as file:
        return file.read()


def read_range(path: str | Path, start: int, size: int) -> bytes:
    """Returns `size` bytes of a file from byte `start`, fewer at its end."""
    with _errors_with_path(path), open_file(path) as file:
        file.seek(start)
        return file.read(size)


def write_atomically(path: str | Path, data: bytes | Iterable[bytes]) -> None:
    """Writes a file that is complete or absent, even if the process is killed meanwhile.

    Args:
        path: replaced if it exists.
        data: the content, or its parts, so that it need not fit into memory.

    Raises:
        OSError: it cannot be written, as on a full disk; names the path.
    """
    parts = filter(None, [data] if isinstance(data, bytes) else data)
    if is_url(path):
        with _errors_with_path(path):
            _write_object(str(path), parts)
        return
    temporary = f"{path}.{uuid.uuid4().hex}{_UNFINISHED}"  # unique: another worker may retry
    try:
        with open(temporary, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)  # frees space on a full disk
        error.filename = str(path)
        raise


def is_file(path: str | Path) -> bool:
    """Returns whether there is a file."""
    if not is_url(path):
        return os.path.isfile(path)
    with _errors_with_path(path):
        return _file_system(path).exists(str(path))


def sizes(folder: str | Path) -> dict[str, int]:
    """Returns the size in bytes of each file anywhere below a folder, by relative path."""
    if is_url(folder):
        return _objects(folder)
    files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return {file.relative_to(folder).as_posix(): file.stat().st_size for file in files}


def entries(folder: str | Path) -> set[str]:
    """Returns the names of the files and folders in a folder; an empty set if it is missing."""
    if is_url(folder):
        return {path.partition("/")[0] for path in _objects(folder)}
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return set()


def make_folder(path: str | Path) -> None:
    """Creates a folder and its parents where they are missing; object stores need none."""
    if not is_url(path):
        os.makedirs(path, exist_ok=True)


def delete(path: str | Path) -> None:
    """Deletes a file, or a folder with its content, if it exists."""
    if is_url(path):
        urls = [f"{path}/{name}" for name in _objects(path)]
        urls += [str(path)] if is_file(path) else []
        if urls:
            with _errors_with_path(path):
                _file_system(path).delete(urls)
    elif os.path.isdir(path):
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)


def delete_unfinished(folder: str | Path) -> None:
    """Deletes the temporary files that killed writes left anywhere below a folder."""
    if not is_url(folder):
        for leftover in Path(folder).rglob(f"*{_UNFINISHED}"):
            leftover.unlink()


def move_entries(source: str | Path, target: str | Path) -> None:
    """Moves everything in one folder to another; if interrupted, the next call continues."""
    if is_url(source):
        names = list(_objects(source))
        if names:
            with _errors_with_path(source):
                _file_system(source).rename(
                    [f"{source}/{name}" for name in names], [f"{target}/{name}" for name in names]
                )
        return
    for name in os.listdir(source):
        destination = Path(target, name)
        if destination.is_dir():
            shutil.rmtree(destination)
        os.replace(Path(source, name), destination)


def _write_object(url: str, parts: Iterator[bytes]) -> None:
    first = next(parts, b"")
    if not first and url.startswith("s3:"):
        _write_empty_s3_object(url)
        return
    file = _file_system(url).create(url, compression_type="uncompressed")
    for part in itertools.chain([first], parts):
        file.write(part)
    file.close()  # publishes the object; not reached after a failed write


def _write_empty_s3_object(url: str) -> None:
    """Writes an empty object by boto3: Beam completes an upload without parts, which S3 refuses."""
    from apache_beam.io.aws import s3io

    bucket, key = s3io.parse_s3_path(url)
    # Undocumented: Beam's wrapper of boto3's client, and the client itself.
    client = s3io.S3IO(options=_pipeline_options()).client.client
    client.put_object(Bucket=bucket, Key=key, Body=b"")


def _objects(folder: str | Path) -> dict[str, int]:
    """Returns the size in bytes of each object below a URL, by relative path."""
    with _errors_with_path(folder):
        (match,) = _file_system(folder).match([f"{glob.escape(str(folder))}/**"])
    return {
        metadata.path.removeprefix(f"{folder}/"): metadata.size_in_bytes
        for metadata in match.metadata_list
    }


def _file_system(path: str | Path) -> Any:
    from apache_beam.io.filesystems import FileSystems

    FileSystems.set_options(_pipeline_options())
    try:
        return FileSystems.get_filesystem(str(path))
    except ValueError as error:
        raise UserError(
            f"received {path}: Beam has no such file system here; pip install 'apache-beam[gcp]' "
            "for gs://, 'apache-beam[aws]' for s3://"
        ) from error


def _pipeline_options() -> Any:
    from apache_beam.options.pipeline_options import PipelineOptions

    return PipelineOptions([], **_beam_options)  # 0.2 ms, little compared with a request


@contextlib.contextmanager
def _errors_with_path(path: str | Path) -> Iterator[None]:
    """Turns any error of an object store's library into an OSError that names the path."""
    try:
        yield
    except Exception as error:
        if not is_url(path) or isinstance(error, UserError) or getattr(error, "filename", None):
            raise  # it names the path already
        number = getattr(error, "errno", None) or errno.EIO
        raise OSError(number, str(error), str(path)) from error
