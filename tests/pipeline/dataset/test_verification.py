from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset, load_dataset
from pipeline.dataset.verification import verify
from tests.helpers.preprocessing import build, configure, contents

NAMES = ("dataset.json", "COMPLETED")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return build(configure(tmp_path, "out", block_lines=500))


def test_every_file_except_the_manifest_is_verified(dataset: Dataset) -> None:
    assert verify(dataset) == len(contents(dataset.directory).keys() - set(NAMES))


def test_a_flipped_byte_in_any_file_is_detected(dataset: Dataset) -> None:
    for name, data in contents(dataset.directory).items():
        path = Path(dataset.path(name))
        damaged = bytearray(data)
        damaged[len(data) // 2] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(UserError) as error:
            verify(load_dataset(dataset.directory))
        assert ("dataset.json" if name in NAMES else name) in str(error.value), name
        path.write_bytes(data)
    verify(load_dataset(dataset.directory))


def test_all_damaged_files_are_named(dataset: Dataset) -> None:
    Path(dataset.path("dev/source.txt")).unlink()
    Path(dataset.path("test/target.txt")).write_text("Hunde")
    with pytest.raises(UserError, match=r"2 of \d+ files .*: dev/source.txt, test/target.txt;"):
        verify(dataset)
