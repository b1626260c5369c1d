"""Members of tar and zip archives, read by name.

Nothing is unpacked to a place that the archive chooses: a member is asked for by its name and
goes to a place of ours, so `../` and absolute names, links and devices have no effect.
"""

import contextlib
import os
import posixpath
import shutil
import tarfile
import uuid
import zipfile
from collections.abc import Generator, Iterator, Sequence
from typing import IO

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.compression import decompress, explain_broken

_COMPRESSED_TARS = (".tgz", ".tbz2", ".txz", ".tzst", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst")
_SUFFIXES = (".zip", ".tar", *_COMPRESSED_TARS)
_SHOWN_NAMES = 5


def is_archive(path: str) -> bool:
    """Returns whether a file's suffix is that of an archive."""
    return path.lower().endswith(_SUFFIXES)


@contextlib.contextmanager
def open_member(archive: str, member: str) -> Iterator[IO[bytes]]:
    """Opens one regular file of an archive, as it is stored there.

    Raises:
        UserError: the archive has no such file; names some which it has.
    """
    seen = []
    with contextlib.closing(_files(archive)) as files:
        for name, file in files:
            if name == posixpath.normpath(member):
                yield file
                return
            seen.append(name)
    raise _no_member(archive, member, seen)


def extract_members(archive: str, members: Sequence[str], folder: str) -> list[str]:
    """Copies members to `folder`, each under its own name, in one pass over the archive.

    Members that are there already stay; a copy exists whole or not at all.

    Returns:
        The path of each member's copy.

    Raises:
        UserError: the archive is broken or lacks a member, or a name leads out of the folder.
    """
    paths = {member: _place(archive, member, folder) for member in members}
    waiting = {posixpath.normpath(m): p for m, p in paths.items() if not os.path.exists(p)}
    seen = []
    if waiting:
        with explain_broken(archive), contextlib.closing(_files(archive)) as files:
            for name, file in files:
                seen.append(name)
                if name in waiting:
                    _copy(file, waiting.pop(name))
                if not waiting:
                    break
    for member in waiting:
        raise _no_member(archive, member, seen)
    return list(paths.values())


def _files(archive: str) -> Generator[tuple[str, IO[bytes]], None, None]:
    """Yields (normalised name, content) of the regular files; read each before the next."""
    if archive.lower().endswith(".zip"):
        with storage.open_file(archive) as raw, zipfile.ZipFile(raw) as zipped:
            for entry in zipped.infolist():
                if not entry.is_dir():
                    with zipped.open(entry) as file:
                        yield posixpath.normpath(entry.filename), file
        return
    with (
        storage.open_file(archive) as raw,
        decompress(raw, archive) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.isreg() and (content := tar.extractfile(member)):
                yield posixpath.normpath(member.name), content


def _place(archive: str, member: str, folder: str) -> str:
    """Returns where a member's copy goes, which is inside the folder whatever its name."""
    name = posixpath.normpath(member)
    if name.startswith(("/", "../")) or name in (".", ".."):
        raise UserError(
            f"{archive}: member {member} leads out of the archive; expected a name in it"
        )
    return os.path.join(folder, *name.split("/"))


def _copy(file: IO[bytes], path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        with open(temporary, "wb") as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _no_member(archive: str, member: str, names: Sequence[str]) -> UserError:
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    held = ", ".join(names[:_SHOWN_NAMES]) + more or "nothing"
    return UserError(f"{archive} has no member {member}: it holds {held}")
