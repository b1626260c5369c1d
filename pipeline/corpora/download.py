"""Downloads: resumed after a broken connection, tried at mirrors, verified, written atomically.

A download lies in the cache under its host and path. Three files may lie beside `FILE`:

| file | content |
|---|---|
| FILE.part | the bytes received so far; renamed to `FILE` when complete |
| FILE.part.etag | the ETag or Last-Modified: which version of the file the bytes are of |
| FILE.sha256 | the verified checksum or, if none is published, the one recorded on first use |

A file that a user put into the cache by hand is verified and used like any other.
"""

import dataclasses
import errno
import hashlib
import http.client
import os
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from absl import logging

from pipeline.common.errors import UserError
from pipeline.common.progress import Progress
from pipeline.common.storage import write_atomically

_ATTEMPTS = 4  # at one URL, in a row without a new byte
_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 18  # bytes
_NETWORK_ERRORS = (OSError, http.client.HTTPException)


@dataclasses.dataclass(frozen=True)
class Download:
    """A file on the web: the same bytes at each URL."""

    urls: tuple[str, ...]  # mirrors, in the order in which they are tried
    checksum: str | None = None  # "sha256:…" or "md5:…", as published

    @property
    def name(self) -> str:
        """Returns the path in a cache: host and path of the first URL."""
        url = urllib.parse.urlsplit(self.urls[0])
        return f"{url.netloc.replace(':', '_')}{urllib.parse.unquote(url.path)}"


def fetch(download: Download, cache_dir: str, wait: Callable[[float], Any] = time.sleep) -> str:
    """Returns the path of a verified download, after downloading it if the cache lacks it.

    Args:
        download: what to fetch.
        cache_dir: folder of all downloads.
        wait: called with the seconds to wait before another attempt.

    Raises:
        UserError: no URL provided the file, or its checksum is wrong.
    """
    path = Path(cache_dir, download.name)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch_from_any(download, path, wait)
        shutil.rmtree(members_folder(path), ignore_errors=True)  # of an earlier download
    _verify(path, download)
    return str(path)


def members_folder(path: str | Path) -> str:
    """Returns the folder for the unpacked members of a downloaded archive."""
    return f"{path}.members"


@dataclasses.dataclass(frozen=True)
class _PartialFile:
    """The bytes received so far, and the version of the file that they belong to."""

    path: Path

    @property
    def size(self) -> int:
        """Returns the number of bytes received so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def version(self) -> str:
        """Returns the recorded ETag or Last-Modified; `""` in quotes matches no version."""
        path = self._version_path
        return (path.read_text("utf-8") if path.exists() else "") or '""'

    def record_version(self, version: str) -> None:
        """Records the ETag or Last-Modified of the file that the bytes belong to."""
        self._version_path.write_text(version, "utf-8")

    def publish(self, path: Path) -> None:
        """Moves the complete file to its final place."""
        os.replace(self.path, path)
        self.delete()

    def delete(self) -> None:
        """Deletes what was received."""
        self.path.unlink(missing_ok=True)
        self._version_path.unlink(missing_ok=True)

    @property
    def _version_path(self) -> Path:
        return Path(f"{self.path}.etag")


def _fetch_from_any(download: Download, path: Path, wait: Callable[[float], Any]) -> None:
    """Downloads from the first mirror that provides the file; each resumes the same partial file.

    Raises:
        UserError: no mirror provided the file; names the problem of each.
        OSError: a problem of this machine, such as a full disk.
    """
    part = _PartialFile(Path(f"{path}.part"))
    problems = []
    for url in download.urls:
        try:
            _fetch_from(url, download.checksum, part, wait)
        except (*_NETWORK_ERRORS, UserError) as error:
            if _is_local(error):
                raise
            problems.append(f"{urllib.parse.urlsplit(url).netloc}: {_format_problem(error)}")
            logging.warning("%s: %s", url, _format_problem(error))
        else:
            part.publish(path)
            return
    reasons = "; ".join(dict.fromkeys(problems))
    raise UserError(
        f"cannot download {path.name} ({reasons}): check the network and try again, or copy the "
        f"file of {download.urls[0]} to {path}"
    )


def _fetch_from(
    url: str, checksum: str | None, part: _PartialFile, wait: Callable[[float], Any]
) -> None:
    """Completes a partial file from one URL and compares its checksum, if one is published.

    A resumed file may mix the bytes of two versions. If its checksum is wrong, the file is
    downloaded once more from the start.

    Raises:
        UserError: the checksum is wrong.
    """
    for _ in range(2):
        was_resumed = _complete(url, part, wait, has_checksum=checksum is not None)
        received = _digest(part.path, checksum) if checksum else None
        if received == checksum:
            return
        part.delete()
        if not was_resumed:
            break
    raise UserError(f"received {received}, expected {checksum}")


def _complete(
    url: str, part: _PartialFile, wait: Callable[[float], Any], *, has_checksum: bool
) -> bool:
    """Receives the rest of a file, with as many requests as it takes.

    Example: a file of 300 bytes whose connection breaks after 100.

        GET                           200, 100 bytes, connection lost; wait 1 s
        GET, Range: bytes=100-        503; wait 2 s
        GET, Range: bytes=100-        206, 200 bytes: complete

    Returns:
        Whether the file was put together from several responses.

    Raises:
        OSError, HTTPException: the last problem, after `_ATTEMPTS` requests in a row without a new
          byte, or at once if another request would not help.
    """
    was_resumed, has_received, failures = part.path.exists(), False, 0
    while True:
        size_before = part.size
        try:
            _receive(url, part, has_checksum=has_checksum)
            return was_resumed
        except _NETWORK_ERRORS as error:
            if _is_bad_range(error) and size_before:
                part.delete()  # it is longer than the file on the server: start again
            elif not _is_temporary(error, has_received=has_received):
                raise
            problem = error
        has_grown = part.size > size_before
        has_received |= has_grown
        failures = 0 if has_grown else failures + 1
        if failures == _ATTEMPTS:
            raise problem
        wait(2.0**failures)
        was_resumed = True


def _receive(url: str, part: _PartialFile, *, has_checksum: bool) -> None:
    """Sends one request for the missing bytes and appends the response to a partial file.

    If the server answers with the whole file, the partial file starts again.

    Raises:
        OSError: the connection broke; the bytes received before that are in the partial file.
    """
    request = urllib.request.Request(url, headers={"User-Agent": "beamformer"})
    requested = part.size
    if requested:
        request.add_header("Range", f"bytes={requested}-")
        if not has_checksum:  # only the server knows whether the file is still the same version
            request.add_header("If-Range", part.version)
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
        start = _first_byte(response, requested)
        headers = response.headers
        part.record_version(headers.get("ETag") or headers.get("Last-Modified") or "")
        length = headers.get("Content-Length")
        total = None if length is None else start + int(length)
        _append(response, part.path, start, total)
    if total is not None and part.size != total:
        raise ConnectionError(f"received {part.size} of {total} bytes")


def _first_byte(response: Any, requested: int) -> int:
    """Returns the position in the file of a response's first byte: `requested`, or 0."""
    if response.status != http.client.PARTIAL_CONTENT:
        return 0
    received = response.headers.get("Content-Range", "")
    if not received.startswith(f"bytes {requested}-"):
        raise ConnectionError(f"received the range {received}, expected bytes {requested}-")
    return requested


def _append(response: Any, path: Path, start: int, total: int | None) -> None:
    """Writes a response to a file from the byte `start` on, which is its end or 0."""
    progress = Progress(f"Download {path.stem}", unit="B", total=total, done=start)
    with progress, open(path, "ab" if start else "wb") as file:
        while chunk := response.read1(_CHUNK):
            file.write(chunk)
            progress.advance(len(chunk))


def _is_bad_range(error: Exception) -> bool:
    """Returns whether a server has no such byte range."""
    bad_range = http.client.REQUESTED_RANGE_NOT_SATISFIABLE
    return isinstance(error, urllib.error.HTTPError) and error.code == bad_range


def _is_temporary(error: Exception, *, has_received: bool) -> bool:
    """Returns whether another request to the same URL may succeed.

    It may after a server error (5xx) or a broken connection. It will not after a refusal (4xx) or
    a problem of this machine, nor if the host could not be reached before the first byte.
    """
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= http.client.INTERNAL_SERVER_ERROR
    if isinstance(error, urllib.error.URLError):
        return has_received
    return not _is_local(error)


def _is_local(error: Exception) -> bool:
    """Returns whether a problem is this machine's, such as a full disk, and not the network's."""
    if not isinstance(error, OSError) or isinstance(error, urllib.error.URLError):
        return False
    return error.filename is not None or error.errno in (errno.ENOSPC, errno.EDQUOT)


def _verify(path: Path, download: Download) -> None:
    """Compares a file with its published checksum, or with the one recorded on first use."""
    record = Path(f"{path}.sha256")
    recorded = record.read_text("utf-8").split()[0] if record.exists() else None
    expected = download.checksum or (f"sha256:{recorded}" if recorded else None)
    received = _digest(path, expected) if expected else None
    if received != expected:
        remedy = "" if download.checksum else f"; or delete {record} to accept it"
        raise UserError(
            f"{path} has {received}, expected {expected}: delete it, and the next run downloads "
            f"it again{remedy}"
        )
    if not recorded:
        digest = _digest(path, "sha256:").partition(":")[2]
        write_atomically(str(record), f"{digest}  {path.name}\n".encode())


def _digest(path: Path, like: str) -> str:
    """Returns a file's checksum, by the algorithm of another checksum."""
    algorithm = like.partition(":")[0]
    with open(path, "rb") as file:
        return f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"


def _format_problem(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}"
    reason = getattr(error, "reason", None)
    return str(getattr(reason, "strerror", None) or reason or error)
