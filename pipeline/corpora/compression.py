"""Decompression by suffix, with broken files reported in one line."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, BinaryIO

from pipeline.common.errors import UserError

_BROKEN = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
_CHUNK = 1 << 17  # bytes


@contextlib.contextmanager
def explain_broken(address: str) -> Iterator[None]:
    """Turns the errors of decompression into a UserError about the address."""
    try:
        yield
    except (*_BROKEN, OSError) as error:
        # Errors of the operating system have a number; those of bz2 and gzip have none.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        kind = os.path.splitext(address)[1].lstrip(".")
        raise UserError(f"{address} is a broken {kind} file ({error}): fetch it again") from error


def decompress(file: IO[bytes], name: str) -> BinaryIO:
    """Returns the decompressed content of an open file; its suffix names the compression."""
    opener = _COMPRESSIONS.get(os.path.splitext(name)[1].lower())
    return opener(file) if opener else file  # type: ignore[return-value]


def is_compressed(address: str) -> bool:
    """Returns whether an address has the suffix of a compressed file."""
    return os.path.splitext(address)[1].lower() in _COMPRESSIONS


class _ZstandardFile(io.RawIOBase):
    """Content of a Zstandard file. The library's own reader accepts truncated files."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file = file
        self._decompress = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._decompress()
        self._has_input = False  # of the frame
        self._error = zstandard.ZstdError
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._grow():
            pass
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def _grow(self) -> bool:
        """Decompresses another chunk; returns False at the end of the file."""
        data = self._frame.unused_data if self._frame.eof else b""
        data = data or self._file.read(_CHUNK)
        if self._frame.eof:
            self._frame, self._has_input = self._decompress(), False
        if not data:
            if self._has_input:
                raise EOFError("the file is truncated")
            return False
        self._has_input = True
        try:
            self._ready = self._frame.decompress(data)
        except self._error as error:
            raise EOFError(str(error)) from error
        return True


def _open_zstandard(file: IO[bytes]) -> BinaryIO:
    return io.BufferedReader(_ZstandardFile(file), _CHUNK)


_COMPRESSIONS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": gzip.open,
    ".tgz": gzip.open,
    ".bz2": bz2.open,
    ".tbz2": bz2.open,
    ".xz": lzma.open,
    ".txz": lzma.open,
    ".zst": _open_zstandard,
    ".tzst": _open_zstandard,
}
