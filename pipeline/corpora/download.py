"""Downloads: tried at each URL in turn, verified, written atomically.

A download lies in the cache under its host and path. `FILE.sha256` beside it is the verified
checksum or, if none is published, the one recorded on first use; for an incomplete `FILE` see
`transfer`. A file that a user put into the cache by hand is verified and used like any other.
"""

import dataclasses
import hashlib
import shutil
import time
import urllib.error
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from absl import logging

from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.corpora.transfer import NETWORK_ERRORS, PartialFile, complete, is_local


@dataclasses.dataclass(frozen=True)
class Download:
    """A file on the web: the same bytes at each URL."""

    urls: tuple[str, ...]  # in the order in which they are tried
    checksum: str | None = None  # "sha256:…" or "md5:…", as published
    size: int | None = None  # bytes, as published

    @property
    def name(self) -> str:
        """Returns the path in a cache: host and path of the first URL."""
        url = urllib.parse.urlsplit(self.urls[0])
        return f"{url.netloc.replace(':', '_')}{urllib.parse.unquote(url.path)}"

    def path(self, cache_dir: str) -> Path:
        """Returns the place of the complete file in a cache."""
        return Path(cache_dir, self.name)


class DownloadError(UserError):
    """No URL provides a file: what went wrong, and what a user can do instead.

    problem: the file and the problem of each host.
    remedy: where a user can put the file.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        """Composes the message."""
        super().__init__(f"cannot download {problem}: check the network and try again, or {remedy}")
        self.problem = problem
        self.remedy = remedy


def fetch(
    download: Download,
    cache_dir: str,
    wait: Callable[[float], Any] = time.sleep,
    *,
    following: int = 0,
) -> str:
    """Returns the path of a verified download, after downloading it if the cache lacks it.

    Args:
        download: what to fetch.
        cache_dir: folder of all downloads.
        wait: called with the seconds to wait before another attempt.
        following: bytes of later downloads, for the estimate of the time left.

    Raises:
        DownloadError: no URL provided the file.
        UserError: the file in the cache has a wrong checksum.
    """
    path = download.path(cache_dir)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch_from_any(download, path, following, wait)
        shutil.rmtree(members_folder(path), ignore_errors=True)  # of an earlier download
    _verify(path, download)
    return str(path)


def missing_bytes(download: Download, cache_dir: str) -> int:
    """Returns how much of a download the cache lacks; 0 if its size is not published."""
    path = download.path(cache_dir)
    received = PartialFile(Path(f"{path}.part")).size
    return 0 if path.exists() else max((download.size or 0) - received, 0)


def members_folder(path: str | Path) -> str:
    """Returns the folder for the unpacked members of a downloaded archive."""
    return f"{path}.members"


def _fetch_from_any(
    download: Download, path: Path, following: int, wait: Callable[[float], Any]
) -> None:
    """Downloads from the first URL that provides the file; each resumes the same partial file.

    Raises:
        DownloadError: no URL provided the file; names the problem of each.
        OSError: a problem of this machine, such as a full disk.
    """
    part = PartialFile(Path(f"{path}.part"), following)
    problems = []
    for url in download.urls:
        try:
            _fetch_from(url, download, part, wait)
        except (*NETWORK_ERRORS, UserError) as error:
            if is_local(error):
                raise
            problems.append(f"{urllib.parse.urlsplit(url).netloc}: {_format_problem(error)}")
            logging.warning("%s: %s", url, _format_problem(error))
        else:
            part.publish(path)
            return
    reasons = "; ".join(dict.fromkeys(problems))
    raise DownloadError(
        f"{path.name} ({reasons})", f"copy the file of {download.urls[0]} to {path}"
    )


def _fetch_from(
    url: str, download: Download, part: PartialFile, wait: Callable[[float], Any]
) -> None:
    """Completes a partial file from one URL and compares it with what is published.

    A resumed file may mix the bytes of two versions. If its checksum or size is wrong, the file is
    downloaded once more from the start.

    Raises:
        UserError: the checksum or the size is wrong.
    """
    for _ in range(2):
        was_resumed = complete(url, part, wait, has_checksum=download.checksum is not None)
        problem = _find_difference(part.path, download)
        if problem is None:
            return
        part.delete()
        if not was_resumed:
            break
    raise UserError(problem)


def _find_difference(path: Path, download: Download) -> str | None:
    """Returns how a file differs from what is published of it; None if it does not."""
    size = path.stat().st_size
    if download.checksum:
        received = _digest(path, download.checksum)
        if received != download.checksum:
            return f"received {received}, expected {download.checksum}"
    elif download.size not in (None, size):
        return f"received {size} bytes, expected {download.size}"
    return None


def _verify(path: Path, download: Download) -> None:
    """Compares a file with what is published, or with the checksum recorded on first use."""
    record = Path(f"{path}.sha256")
    recorded = record.read_text("utf-8").split()[0] if record.exists() else None
    problem, remedy = _find_difference(path, download), ""
    if problem is None and recorded and not download.checksum:
        problem = _find_difference(path, Download(download.urls, f"sha256:{recorded}"))
        remedy = f"; or delete {record} to accept it"
    if problem is not None:
        raise UserError(
            f"{path}: {problem}: delete it, and the next run downloads it again{remedy}"
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
