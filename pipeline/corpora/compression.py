"""Compressed files: read by suffix, and a broken one explained in one line."""

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
    """Turns what decompression finds wrong into a UserError about the address."""
    try:
        yield
    except (*_BROKEN, OSError) as error:
        # What the operating system reports has a number; what bz2 and gzip find has none.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        kind = os.path.splitext(address)[1].lstrip(".")
        raise UserError(f"{address} is a broken {kind} file ({error}): fetch it again") from error


def decompress(file: IO[bytes], name: str) -> BinaryIO:
    """Returns the content of an open file whose name tells how it is compressed, if at all."""
    opener = _COMPRESSIONS.get(os.path.splitext(name)[1].lower())
    return opener(file) if opener else file  # type: ignore[return-value]


def is_compressed(address: str) -> bool:
    """Returns whether an address ends in the suffix of a compression."""
    return os.path.splitext(address)[1].lower() in _COMPRESSIONS


class _ZstandardFile(io.RawIOBase):
    """The content of a Zstandard file. The library's own reader takes a cut-off file for whole."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file = file
        self._decompress = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._decompress()
        self._started = False  # whether the frame has got any input
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
        """Decompresses some more; returns whether there was any."""
        data = self._frame.unused_data if self._frame.eof else b""
        data = data or self._file.read(_CHUNK)
        if self._frame.eof:
            self._frame, self._started = self._decompress(), False
        if not data:
            if self._started:
                raise EOFError("the file ends in the middle")
            return False
        self._started = True
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
