"""One file over HTTP: received piece by piece into a partial file, resumed after interruptions.

Until it is complete, two files stand for a download `FILE`:

| file | content |
|---|---|
| FILE.part | the bytes received so far; renamed to `FILE` when complete |
| FILE.part.etag | the ETag or Last-Modified: which version of the file the bytes are of |
"""

import dataclasses
import errno
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.common.progress import Progress, format_bytes, format_duration

NETWORK_ERRORS = (OSError, http.client.HTTPException)
_ATTEMPTS = 4  # at one URL, in a row without a new byte
_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 18  # bytes
_SECONDS_TO_MEASURE = 5.0  # of receiving, before the rate is told


@dataclasses.dataclass(frozen=True)
class PartialFile:
    """The bytes received so far, and the version of the file that they belong to.

    path: FILE.part.
    following: bytes of the downloads that follow this one, for the estimate of the time left.
    """

    path: Path
    following: int = 0

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


def complete(
    url: str, part: PartialFile, wait: Callable[[float], Any], *, has_checksum: bool
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
        except NETWORK_ERRORS as error:
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


def _receive(url: str, part: PartialFile, *, has_checksum: bool) -> None:
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
        _append(response, part, start, total)
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


def _append(response: Any, part: PartialFile, start: int, total: int | None) -> None:
    """Writes a response to a partial file from the byte `start` on, which is its end or 0.

    After some seconds it reports, once, how long this file and those that follow will take.
    """
    progress = Progress(f"Download {part.path.stem}", unit="B", total=total, done=start)
    begin, end, has_told = time.monotonic(), start, False
    with progress, open(part.path, "ab" if start else "wb") as file:
        while chunk := response.read1(_CHUNK):
            file.write(chunk)
            progress.advance(len(chunk))
            end += len(chunk)
            seconds = time.monotonic() - begin
            if seconds >= _SECONDS_TO_MEASURE and total is not None and not has_told:
                rate = (end - start) / max(seconds, 1e-9)
                progress.report(_format_time_left(total - end + part.following, rate))
                has_told = True


def _format_time_left(size: int, rate: float) -> str:
    """Returns such as "1.7 GB in all, about 23m20s at this rate"."""
    return f"{format_bytes(size)} in all, about {format_duration(size / rate)} at this rate"


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
    return not is_local(error)


def is_local(error: Exception) -> bool:
    """Returns whether a problem is this machine's, such as a full disk, and not the network's."""
    if not isinstance(error, OSError) or isinstance(error, urllib.error.URLError):
        return False
    return error.filename is not None or error.errno in (errno.ENOSPC, errno.EDQUOT)
