import errno
import tempfile
from pathlib import Path

import pytest

from pipeline.common import storage
from pipeline.common.errors import UserError
from tests.helpers.object_store import OBJECTS, upload
from trainer.exporters.saved_model_files import (
    check_saved_model,
    fetch_saved_model,
    read_fingerprint,
)

URL = "mem://models/news"
FILES = {"saved_model.pb": b"graph", "fingerprint.pb": b"1", "variables/variables.index": b"index"}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of this machine."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def url(temporary: Path) -> str:
    """A SavedModel in an object store."""
    for name, data in FILES.items():
        upload(f"{URL}/{name}", data)
    return URL


def read_all(directory: str) -> dict[str, bytes]:
    return {name: Path(directory, name).read_bytes() for name in storage.sizes(directory)}


def test_a_model_at_a_url_is_fetched_whole_and_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = fetch_saved_model(url)
    assert read_all(copy) == FILES
    monkeypatch.delitem(OBJECTS, f"{url}/variables/variables.index")
    assert fetch_saved_model(url) == copy
    assert read_all(copy) == FILES


def test_a_model_that_replaces_another_is_fetched_anew(url: str) -> None:
    before = fetch_saved_model(url)
    upload(f"{url}/fingerprint.pb", b"2")
    assert read_fingerprint(url) == b"2"
    assert read_all(fetch_saved_model(url)) == FILES | {"fingerprint.pb": b"2"}
    assert read_all(before) == FILES


def test_a_fetch_that_fails_leaves_nothing(
    url: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_disk(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(storage, "write_atomically", fill_disk)
    with pytest.raises(OSError, match="No space left"):
        fetch_saved_model(url)
    assert list((temporary / "beamformer-saved-models").iterdir()) == []


def test_the_first_of_two_processes_wins(
    url: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch_meanwhile(path: str) -> bytes:
        monkeypatch.undo()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        winners.append(fetch_saved_model(url))
        return storage.read(path)

    winners: list[str] = []
    read_fingerprint(url)
    real_read, calls = storage.read, []

    def read(path: str) -> bytes:
        calls.append(path)
        return real_read(path) if len(calls) == 1 else fetch_meanwhile(path)  # 1: the fingerprint

    monkeypatch.setattr(storage, "read", read)
    assert [fetch_saved_model(url)] == winners
    assert len(list((temporary / "beamformer-saved-models").iterdir())) == 1


def test_a_local_model_stays_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").touch()
    assert fetch_saved_model(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize(
    ("place", "remedy"),
    [
        ("mem://models", "did you mean mem://models/news"),
        ("mem://nothing", "copy there what python -m trainer.export wrote"),
        ("nothing", "make one with python -m trainer.export --output_dir=nothing"),
        (__file__, "make one with python -m trainer.export"),
    ],
)
def test_the_error_says_where_a_model_is_or_how_to_make_one(
    url: str, place: str, remedy: str
) -> None:
    with pytest.raises(UserError, match=f"no SavedModel in {place} .*{remedy}"):
        check_saved_model(place)
