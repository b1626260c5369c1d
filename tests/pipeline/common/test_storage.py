"""Every operation on local files and on an object store; beyond that, how they differ."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.common import storage
from pipeline.common.errors import UserError
from tests.helpers.object_store import OBJECTS, MemoryFileSystem, objects


@pytest.fixture(params=["local", "mem://bucket/a [b] *"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    OBJECTS.clear()
    yield str(tmp_path) if request.param == "local" else request.param
    OBJECTS.clear()
    assert not Path("mem:").exists()


def fill(folder: str) -> None:
    """Writes three files, one in a subfolder."""
    storage.make_folder(f"{folder}/in/deep")
    for name, data in (("a.txt", b"one"), ("in/b", b""), ("in/deep/c", b"seven")):
        storage.write_atomically(f"{folder}/{name}", data)


def test_written_data_is_read_back(folder: str) -> None:
    fill(folder)
    assert storage.read(f"{folder}/a.txt") == b"one"
    assert storage.read(f"{folder}/in/b") == b""
    assert storage.read_range(f"{folder}/in/deep/c", 1, 3) == b"eve"
    assert storage.read_range(f"{folder}/in/deep/c", 3, 9) == b"en"
    with storage.open_file(f"{folder}/a.txt") as file:
        assert list(file) == [b"one"]


def test_writing_again_replaces(folder: str) -> None:
    fill(folder)
    storage.write_atomically(f"{folder}/a.txt", b"2")
    assert storage.read(f"{folder}/a.txt") == b"2"


def test_data_may_come_in_parts(folder: str) -> None:
    storage.write_atomically(f"{folder}/whole", iter([b"", b"ab", b"", b"c"]))
    assert storage.read(f"{folder}/whole") == b"abc"


def test_files_below_are_listed_with_their_sizes(folder: str) -> None:
    fill(folder)
    assert storage.sizes(folder) == {"a.txt": 3, "in/b": 0, "in/deep/c": 5}
    assert storage.sizes(f"{folder}/in") == {"b": 0, "deep/c": 5}
    assert storage.sizes(f"{folder}/nowhere") == {}


def test_entries_are_files_and_folders_of_the_first_level(folder: str) -> None:
    fill(folder)
    assert storage.entries(folder) == {"a.txt", "in"}
    assert storage.entries(f"{folder}/nowhere") == set()


def test_folders_and_prefixes_of_names_are_not_files(folder: str) -> None:
    fill(folder)
    names = ("a.txt", "in/b", "in", "a.tx", "nowhere")
    assert [storage.is_file(f"{folder}/{name}") for name in names] == [True, True, *[False] * 3]


def test_files_and_folders_are_deleted_and_missing_ones_ignored(folder: str) -> None:
    fill(folder)
    for name in ("in/deep", "in/d", "a", "nowhere"):
        storage.delete(f"{folder}/{name}")
    assert storage.sizes(folder) == {"a.txt": 3, "in/b": 0}
    storage.delete(f"{folder}/a.txt")
    assert storage.sizes(folder) == {"in/b": 0}


def test_everything_in_a_folder_is_moved(folder: str) -> None:
    fill(folder)
    storage.write_atomically(f"{folder}/b", b"replaced")
    storage.move_entries(f"{folder}/in", folder)
    assert storage.sizes(folder) == {"a.txt": 3, "b": 0, "deep/c": 5}
    storage.make_folder(f"{folder}/in")
    storage.move_entries(f"{folder}/in", folder)


def test_a_missing_file_is_an_error_that_names_it(folder: str) -> None:
    for read in (storage.read, storage.open_file, lambda path: storage.read_range(path, 0, 1)):
        with pytest.raises(FileNotFoundError) as error:
            read(f"{folder}/nowhere")
        assert error.value.filename == f"{folder}/nowhere"


@pytest.mark.parametrize("folder", ["local"], indirect=True)
def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder)

    def full_disk(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match=f"No space left on device: '{folder}/a.txt'"):
        storage.write_atomically(f"{folder}/a.txt", b"2")
    assert storage.sizes(folder) == {"a.txt": 3, "in/b": 0, "in/deep/c": 5}
    assert storage.read(f"{folder}/a.txt") == b"one"


@pytest.mark.parametrize("folder", ["local"], indirect=True)
def test_temporary_files_of_killed_writes_are_deleted_anywhere_below(folder: str) -> None:
    fill(folder)
    for name in ("x.0.tmp", "in/deep/y.1.tmp"):
        Path(folder, name).write_bytes(b"half")
    storage.delete_unfinished(folder)
    assert storage.sizes(folder) == {"a.txt": 3, "in/b": 0, "in/deep/c": 5}


@pytest.mark.parametrize("folder", ["mem://bucket"], indirect=True)
def test_a_move_that_was_interrupted_is_continued(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder)
    before = objects(f"{folder}/in")
    move = MemoryFileSystem.rename

    def move_one(self: MemoryFileSystem, sources: list[str], targets: list[str]) -> None:
        move(self, sources[:1], targets[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryFileSystem, "rename", move_one)
    with pytest.raises(KeyboardInterrupt):
        storage.move_entries(f"{folder}/in", f"{folder}/out")
    monkeypatch.undo()
    assert 0 < len(objects(f"{folder}/out")) < len(before)
    storage.move_entries(f"{folder}/in", f"{folder}/out")
    assert objects(f"{folder}/out") == before and not objects(f"{folder}/in")


def test_a_store_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: MemoryFileSystem, *_: object, **__: object) -> None:
        raise PermissionError("no credentials")  # as libraries of stores do, without number

    for name in ("open", "create", "exists", "match"):
        monkeypatch.setattr(MemoryFileSystem, name, refuse)
    for use in (
        storage.read,
        storage.is_file,
        storage.sizes,
        storage.delete,
        lambda path: storage.write_atomically(path, b""),
    ):
        with pytest.raises(OSError, match="no credentials") as error:
            use("mem://bucket/x")
        assert str(error.value).startswith(f"[Errno {errno.EIO}] no credentials")
        assert error.value.filename == "mem://bucket/x"


def test_an_unsupported_url_scheme_is_refused() -> None:
    with pytest.raises(UserError, match=r"received warp://x/y: .*apache-beam\[gcp\]"):
        storage.read("warp://x/y")


def test_file_systems_receive_the_options_of_connect() -> None:
    try:
        storage.connect({"s3_endpoint_url": "http://localhost:1", "streaming": True})
        assert not storage.is_file("mem://bucket/x")
        options = MemoryFileSystem.options.get_all_options()
        assert options["s3_endpoint_url"] == "http://localhost:1"
    finally:
        storage.connect({})
    storage.is_file("mem://bucket/x")
    assert MemoryFileSystem.options.get_all_options()["s3_endpoint_url"] is None


def test_the_s3_client_behind_beam_is_where_empty_objects_look_for_it() -> None:
    pytest.importorskip("boto3", reason="needs S3: pip install '.[aws]'")
    from apache_beam.io.aws.s3io import S3IO

    client = S3IO(options=PipelineOptions([], s3_region_name="us-east-1")).client.client
    assert callable(client.put_object)
