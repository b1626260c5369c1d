import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from pipeline.common.errors import UserError
from pipeline.corpora.readers import format_suffix, open_bytes

TEXT = "".join(f"line {number}\u0085 of many\n" for number in range(5000)).encode()
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


@pytest.mark.parametrize("suffix", ["", *COMPRESSORS])
def test_every_compression_is_undone(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESSORS[suffix](TEXT) if suffix else TEXT)
    with open_bytes(str(path)) as file:
        assert list(file) == [line + b"\n" for line in TEXT.split(b"\n")[:-1]]


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_a_file_of_two_frames_is_read_to_its_end(tmp_path: Path, suffix: str) -> None:
    compress = COMPRESSORS[suffix]
    path = tmp_path / f"text{suffix}"
    path.write_bytes(compress(TEXT) + compress(b"the end\n"))
    with open_bytes(str(path)) as file:
        assert file.read() == TEXT + b"the end\n"


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_broken_file_is_named(tmp_path: Path, suffix: str, damage: str) -> None:
    data = bytearray(COMPRESSORS[suffix](TEXT))
    if damage == "cut":
        del data[len(data) // 2 :]
    else:
        data[0] ^= 0xFF
    path = tmp_path / f"text{suffix}"
    path.write_bytes(data)
    with (
        pytest.raises(UserError, match=rf"text{suffix} is a broken {suffix[1:]} file .*again"),
        open_bytes(str(path)) as file,
    ):
        file.read()


@pytest.mark.parametrize(
    ("address", "suffix"),
    [("a.TSV", ".tsv"), ("a.tsv.gz", ".tsv"), ("a.tgz::b/c.jsonl.zst", ".jsonl"), ("a.d/b", "")],
)
def test_the_suffix_before_the_compression_is_the_format(address: str, suffix: str) -> None:
    assert format_suffix(address) == suffix


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UserError, match="no file nowhere.gz: expected"), open_bytes("nowhere.gz"):
        pass
