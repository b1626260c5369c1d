from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from trainer.bulk_translation.score_files import read_aligned_lines


def write(folder: Path, **texts: bytes) -> list[str]:
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    return [str(folder / name) for name in texts]


def test_lines_end_at_line_feeds_alone_as_those_of_translations_do(tmp_path: Path) -> None:
    paths = write(tmp_path, en="a\rb\u2028c\r\n\nlast\n".encode(), de=b"A\n\nLetzte")
    assert read_aligned_lines(*paths) == (["a\rb\u2028c\r", "", "last"], ["A", "", "Letzte"])


def test_files_of_no_lines_have_no_pairs(tmp_path: Path) -> None:
    assert read_aligned_lines(*write(tmp_path, en=b"", de=b"")) == ([], [])


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"A\n", "de ends after line 1"),
        (b"", "de ends after line 0"),
        (b"A\nB\nC\n", "en ends after line 2"),
        (b"A\n\xfcber\n", "de, line 2: byte 0xfc is not UTF-8"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(
    tmp_path: Path, target: bytes, expected: str
) -> None:
    paths = write(tmp_path, en=b"a\nb\n", de=target)
    with pytest.raises(UserError, match=expected):
        read_aligned_lines(*paths)
