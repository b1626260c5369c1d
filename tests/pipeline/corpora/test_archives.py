import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from pipeline.common.errors import UserError
from pipeline.corpora.archives import extract_members
from pipeline.corpora.readers import open_bytes

FILES = {"./deep/a.en": b"one\n", "deep/a.de": b"eins\n", "b.en.gz": gzip.compress(b"packed\n")}
ARCHIVES = ["x.tar", "x.tgz", "x.tar.bz2", "x.tar.xz", "x.tar.zst", "x.zip"]


def write_tar(path: Path, members: list[tarfile.TarInfo], contents: list[bytes]) -> None:
    mode = {".bz2": "w:bz2", ".xz": "w:xz", ".tgz": "w:gz"}.get(path.suffix, "w")
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for member, content in zip(members, contents, strict=True):
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def make_archive(folder: Path, name: str) -> str:
    path = folder / name
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as zipped:
            zipped.mkdir("deep")
            for member, content in FILES.items():
                zipped.writestr(member, content)
    else:
        write_tar(path, [tarfile.TarInfo(member) for member in FILES], list(FILES.values()))
    if path.suffix == ".zst":
        path.write_bytes(zstandard.compress(path.read_bytes()))
    return str(path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_members_are_read_by_name(tmp_path: Path, name: str) -> None:
    archive = make_archive(tmp_path, name)
    for member, text in (("deep/a.en", b"one\n"), ("./deep/a.de", b"eins\n")):
        with open_bytes(f"{archive}::{member}") as file:
            assert file.read() == text
    with open_bytes(f"{archive}::b.en.gz") as file:
        assert file.read() == b"packed\n"


@pytest.mark.parametrize("name", ARCHIVES)
def test_members_are_copied_in_the_requested_order(tmp_path: Path, name: str) -> None:
    archive = make_archive(tmp_path, name)
    folder = tmp_path / "out"
    paths = extract_members(archive, ["deep/a.de", "deep/a.en"], str(folder))
    assert [Path(path).read_bytes() for path in paths] == [b"eins\n", b"one\n"]
    assert paths == [str(folder / "deep" / "a.de"), str(folder / "deep" / "a.en")]
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 2


def test_existing_copies_are_kept(tmp_path: Path) -> None:
    archive = make_archive(tmp_path, "x.tgz")
    (path,) = extract_members(archive, ["deep/a.de"], str(tmp_path))
    Path(archive).unlink()
    assert extract_members(archive, ["deep/a.de"], str(tmp_path)) == [path]


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_missing_member_is_reported_with_existing_ones(tmp_path: Path, name: str) -> None:
    archive = make_archive(tmp_path, name)
    expected = r"has no member a\.fr: it holds deep/a\.en, deep/a\.de, b\.en\.gz"
    with pytest.raises(UserError, match=expected), open_bytes(f"{archive}::a.fr"):
        pass
    with pytest.raises(UserError, match=expected):
        extract_members(archive, ["a.fr"], str(tmp_path))


@pytest.mark.parametrize("member", ["../evil", "/evil", "a/../../evil", ".."])
def test_no_member_is_written_outside_the_folder(tmp_path: Path, member: str) -> None:
    write_tar(tmp_path / "x.tar", [tarfile.TarInfo(member)], [b"evil"])
    with pytest.raises(UserError, match="leads out"):
        extract_members(str(tmp_path / "x.tar"), [member], str(tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_not_members(tmp_path: Path, kind: bytes) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    member = tarfile.TarInfo("a.en")
    member.type, member.linkname = kind, str(secret)
    write_tar(tmp_path / "x.tar", [member], [b""])
    with pytest.raises(UserError, match="no member a.en: it holds nothing"):
        extract_members(str(tmp_path / "x.tar"), ["a.en"], str(tmp_path / "out"))


@pytest.mark.parametrize("name", ["x.tgz", "x.tar.xz", "x.zip", "x.tar"])
def test_a_truncated_archive_is_named_and_leaves_no_copy(tmp_path: Path, name: str) -> None:
    archive = Path(make_archive(tmp_path, name))
    archive.write_bytes(archive.read_bytes()[:90])
    with pytest.raises(UserError, match=f"{name} is a broken"):
        extract_members(str(archive), ["deep/a.en"], str(tmp_path / "out"))
    assert not list((tmp_path / "out").rglob("*.*"))


def test_an_interrupted_copy_leaves_no_file(tmp_path: Path) -> None:
    write_tar(tmp_path / "x.tar", [tarfile.TarInfo("a.en")], [b"line\n" * 100_000])
    archive = tmp_path / "x.tar"
    archive.write_bytes(archive.read_bytes()[:200_000])
    with pytest.raises(UserError, match=r"x\.tar is a broken tar file"):
        extract_members(str(archive), ["a.en"], str(tmp_path / "out"))
    assert list((tmp_path / "out").iterdir()) == []


def test_an_archive_without_a_member_is_explained(tmp_path: Path) -> None:
    archive = make_archive(tmp_path, "x.tar.bz2")
    with pytest.raises(UserError, match=r"is an archive: name a file in it, .*x\.tar\.bz2::"):
        open_bytes(archive).__enter__()
