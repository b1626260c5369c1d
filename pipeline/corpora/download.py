"""Downloads that survive: resumed after a broken connection, tried at mirrors, verified, atomic.

A download lies in the cache under its host and path. While it grows it is called `.part`; beside
it stands `.sha256`, what was verified or, when nobody has published a checksum, recorded on first
use. A file that somebody put there by hand is taken as it is, and verified as well.
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

_ATTEMPTS = 4  # in a row without a new byte, at one URL
_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 18  # bytes
_BAD_RANGE = 416
_BROKEN = (OSError, http.client.HTTPException)


@dataclasses.dataclass(frozen=True)
class Download:
    """A file of the web: the same bytes at each URL."""

    urls: tuple[str, ...]
    checksum: str | None = None  # "sha256:…" or "md5:…", as published

    @property
    def name(self) -> str:
        """Returns the place in a cache: host and path of the first URL."""
        url = urllib.parse.urlsplit(self.urls[0])
        return f"{url.netloc.replace(':', '_')}{urllib.parse.unquote(url.path)}"


def fetch(download: Download, cache_dir: str, wait: Callable[[float], Any] = time.sleep) -> str:
    """Returns the path of a verified download, after downloading what the cache lacks.

    Args:
        download: what to fetch.
        cache_dir: folder of all downloads.
        wait: is called with the seconds to wait before another attempt.

    Raises:
        UserError: no URL gave the file, or its bytes are not the expected ones.
    """
    path = Path(cache_dir, download.name)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch_from_any(download, path, wait)
        shutil.rmtree(members_folder(path), ignore_errors=True)  # of another download
    _verify(path, download)
    return str(path)


def members_folder(path: str | Path) -> str:
    """Returns the folder for the unpacked members of a downloaded archive."""
    return f"{path}.members"


def _fetch_from_any(download: Download, path: Path, wait: Callable[[float], Any]) -> None:
    problems = []
    for url in download.urls:
        try:
            _fetch_from(url, download, path, wait)
            return
        except (*_BROKEN, UserError) as error:
            if _is_local(error):
                raise
            problems.append(f"{urllib.parse.urlsplit(url).netloc}: {_format_problem(error)}")
            logging.warning("%s: %s", url, _format_problem(error))
    reasons = "; ".join(dict.fromkeys(problems))
    raise UserError(
        f"cannot download {path.name} ({reasons}): try again when the network is there, or put "
        f"the file of {download.urls[0]} at {path}"
    )


def _fetch_from(url: str, download: Download, path: Path, wait: Callable[[float], Any]) -> None:
    """Downloads from one URL, going on where the last attempt broke off."""
    part = Path(f"{path}.part")
    for _ in range(2):
        resumed = _receive_all(url, part, wait, has_checksum=download.checksum is not None)
        found = _digest(part, download.checksum) if download.checksum else None
        if found == download.checksum:
            os.replace(part, path)
            _validator(part).unlink(missing_ok=True)
            return
        part.unlink()
        _validator(part).unlink(missing_ok=True)
        if not resumed:  # else the pieces may have come from different files: once more
            break
    raise UserError(f"received {found}, expected {download.checksum}")


def _receive_all(url: str, part: Path, wait: Callable[[float], Any], *, has_checksum: bool) -> bool:
    """Completes `part`; returns whether it was put together from several answers."""
    resumed, reached, failures = part.exists(), False, 0
    while True:
        size = part.stat().st_size if part.exists() else 0
        try:
            _receive(url, part, has_checksum=has_checksum)
            return resumed
        except urllib.error.HTTPError as error:
            if error.code == _BAD_RANGE and size:
                part.unlink()  # the file there is shorter than what we have
            elif error.code < 500:
                raise
            problem: Exception = error
        except _BROKEN as error:
            # No such host, no network, a full disk: waiting does not help.
            if _is_local(error) or (isinstance(error, urllib.error.URLError) and not reached):
                raise
            problem = error
        grown = part.exists() and part.stat().st_size > size
        reached |= grown
        failures = 0 if grown else failures + 1
        if failures == _ATTEMPTS:
            raise problem
        wait(2.0**failures)
        resumed = True


def _receive(url: str, part: Path, *, has_checksum: bool) -> None:
    """Appends what is missing to `part`, or starts anew where the server cannot do that.

    Raises:
        OSError: the connection broke; what came before is in `part`.
    """
    size = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "beamformer"})
    if size:
        request.add_header("Range", f"bytes={size}-")
        if not has_checksum:  # only the server can say whether it is still the same file
            request.add_header("If-Range", _read_validator(part))
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
        if response.status != http.client.PARTIAL_CONTENT:
            size = 0
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {size}-"):
            raise ConnectionError(f"the server sent another range than bytes {size}-")
        validator = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        _validator(part).write_text(validator, "utf-8")
        left = response.headers.get("Content-Length")
        total = None if left is None else size + int(left)
        progress = Progress(f"Download {part.stem}", unit="B", total=total, done=size)
        with progress, open(part, "ab" if size else "wb") as file:
            while chunk := response.read1(_CHUNK):
                file.write(chunk)
                progress.advance(len(chunk))
    if total is not None and part.stat().st_size != total:
        raise ConnectionError(f"received {part.stat().st_size} of {total} bytes")


def _validator(part: Path) -> Path:
    return Path(f"{part}.etag")


def _read_validator(part: Path) -> str:
    """Returns what names the version of the file which the server had; `""` matches none."""
    path = _validator(part)
    return (path.read_text("utf-8") if path.exists() else "") or '""'


def _verify(path: Path, download: Download) -> None:
    """Compares a file with its published checksum, or with the one of its first use."""
    record = Path(f"{path}.sha256")
    recorded = record.read_text("utf-8").split()[0] if record.exists() else None
    expected = download.checksum or (f"sha256:{recorded}" if recorded else None)
    if expected and (found := _digest(path, expected)) != expected:
        raise UserError(
            f"{path} has {found}, expected {expected}: delete it, and the next run downloads it "
            "again" + ("" if download.checksum else f"; or delete {record} to accept it")
        )
    if not recorded:
        digest = _digest(path, "sha256:").partition(":")[2]
        write_atomically(str(record), f"{digest}  {path.name}\n".encode())


def _digest(path: Path, like: str) -> str:
    """Returns a file's checksum, by the algorithm which another checksum names."""
    algorithm = like.partition(":")[0]
    with open(path, "rb") as file:
        return f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"


def _is_local(error: Exception) -> bool:
    """Returns whether a problem is this machine's, such as a full disk, and not the network's."""
    if not isinstance(error, OSError) or isinstance(error, urllib.error.URLError):
        return False
    return error.filename is not None or error.errno in (errno.ENOSPC, errno.EDQUOT)


def _format_problem(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}"
    return str(getattr(reason, "strerror", None) or reason or error)
