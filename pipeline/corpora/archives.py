"""Members of tar and zip archives, read by name.

The archive chooses no path: a member is requested by its name and written to a path of ours, so
`../`, absolute names, links and devices have no effect.
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
    """Returns whether a file has an archive's suffix."""
    return path.lower().endswith(_SUFFIXES)


@contextlib.contextmanager
def open_member(archive: str, member: str) -> Iterator[IO[bytes]]:
    """Opens one regular file of an archive; its own compression is not undone.

    Raises:
        UserError: the archive has no such file; names some that it has.
    """
    names = []
    with contextlib.closing(_files(archive)) as files:
        for name, file in files:
            if name == posixpath.normpath(member):
                yield file
                return
            names.append(name)
    raise _missing_member(archive, member, names)


def extract_members(archive: str, members: Sequence[str], folder: str) -> list[str]:
    """Copies members to `folder`, each under its own name, in one pass over the archive.

    Existing copies are kept. Copies are written atomically.

    Returns:
        The path of each member's copy.

    Raises:
        UserError: the archive is broken or lacks a member, or a name leads out of the folder.
    """
    paths = {member: _copy_path(archive, member, folder) for member in members}
    missing = {
        posixpath.normpath(member): path
        for member, path in paths.items()
        if not os.path.exists(path)
    }
    names = []
    if missing:
        with explain_broken(archive), contextlib.closing(_files(archive)) as files:
            for name, file in files:
                names.append(name)
                if name in missing:
                    _copy(file, missing.pop(name))
                if not missing:
                    break
    for member in missing:
        raise _missing_member(archive, member, names)
    return list(paths.values())


def _files(archive: str) -> Generator[tuple[str, IO[bytes]], None, None]:
    """Yields (normalized name, content) of the regular files; read each before the next."""
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
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield posixpath.normpath(member.name), content


def _copy_path(archive: str, member: str, folder: str) -> str:
    """Returns the path of a member's copy, which is always inside the folder.

    Raises:
        UserError: the name is absolute, or leads out of the folder.
    """
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


def _missing_member(archive: str, member: str, names: Sequence[str]) -> UserError:
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    held = ", ".join(names[:_SHOWN_NAMES]) + more or "nothing"
    return UserError(f"{archive} has no member {member}: it holds {held}")
