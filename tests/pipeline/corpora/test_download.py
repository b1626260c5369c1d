import hashlib
import socket
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from pipeline.corpora import download
from pipeline.corpora.download import Download, fetch, members_folder
from tests.helpers.web_server import Web, serving

DATA = bytes(number % 251 for number in range(300_000))
SHA256 = f"sha256:{hashlib.sha256(DATA).hexdigest()}"
MD5 = f"md5:{hashlib.md5(DATA).hexdigest()}"


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as web:
        yield web


def get(cache: Path, *urls: str, checksum: str | None = SHA256) -> Path:
    waits: list[float] = []
    path = Path(fetch(Download(urls, checksum), str(cache), waits.append))
    assert path.read_bytes() == DATA
    assert all(1 <= wait <= 8 for wait in waits)
    names = sorted(entry.name for entry in path.parent.iterdir())
    assert names == [path.name, f"{path.name}.sha256"], "something is left over"
    return path


@pytest.mark.parametrize("checksum", [SHA256, MD5, None])
def test_a_file_is_downloaded_once(tmp_path: Path, web: Web, checksum: str | None) -> None:
    url = web.serve("/deep/a%20b.tgz", DATA)
    path = get(tmp_path, url, checksum=checksum)
    assert path == tmp_path / f"127.0.0.1_{web.server_port}" / "deep" / "a b.tgz"
    assert get(tmp_path, url, checksum=checksum) == path
    assert web.requests == [("/deep/a%20b.tgz", None)]


def test_the_checksum_stands_beside_the_file(tmp_path: Path, web: Web) -> None:
    path = get(tmp_path, web.serve("/a", DATA), checksum=None)
    assert Path(f"{path}.sha256").read_text() == f"{SHA256.removeprefix('sha256:')}  a\n"


@pytest.mark.parametrize("checksum", [SHA256, None])
def test_a_broken_connection_is_resumed(tmp_path: Path, web: Web, checksum: str | None) -> None:
    url = web.serve("/a", DATA, cut_after=[100_000, 0, 0, 50_000], errors=[503])
    get(tmp_path, url, checksum=checksum)
    ranges = [None, None, *["bytes=100000-"] * 3, "bytes=150000-"]
    assert [asked for _, asked in web.requests] == ranges


def test_a_later_run_resumes_what_an_earlier_one_left(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA, cut_after=[70_000, 0, 0, 0, 0])
    with pytest.raises(UserError, match=r"received 70000 of 300000 bytes"):
        get(tmp_path, url)
    web.requests.clear()
    get(tmp_path, url)
    assert web.requests == [("/a", "bytes=70000-")]


def test_a_server_without_ranges_starts_anew(tmp_path: Path, web: Web) -> None:
    get(tmp_path, web.serve("/a", DATA, cut_after=[100_000], ranges=False))
    assert [asked for _, asked in web.requests] == [None, "bytes=100000-"]


def test_another_part_than_was_asked_for_is_refused(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA, cut_after=[100_000], shift=10)
    with pytest.raises(UserError, match="the server sent another range than bytes 100000-"):
        get(tmp_path, url, checksum=None)


def test_a_network_that_goes_away_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems: list[Exception] = [ConnectionResetError("reset"), urllib.error.URLError("no network")]

    def receive(url: str, part: Path, *, has_checksum: bool) -> None:
        done = {2: DATA[:9], 1: DATA[:9], 0: DATA}[len(problems)]
        part.write_bytes(done)
        if problems:
            raise problems.pop(0)

    monkeypatch.setattr(download, "_receive", receive)
    get(tmp_path, "http://host/a")


def test_a_file_that_changed_meanwhile_starts_anew(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", b"x" * 300_000, cut_after=[100_000, 0, 0, 0, 0])
    with pytest.raises(UserError):
        get(tmp_path, url, checksum=None)
    web.serve("/a", DATA, etag='"2"')
    get(tmp_path, url, checksum=None)


@pytest.mark.parametrize("rest", [b"x" * 1000, b"x" * 300_000, b"x" * 400_000])
def test_a_rest_of_another_file_is_thrown_away(tmp_path: Path, web: Web, rest: bytes) -> None:
    url = web.serve("/a", DATA)
    part = tmp_path / f"127.0.0.1_{web.server_port}" / "a.part"
    part.parent.mkdir()
    part.write_bytes(rest)
    get(tmp_path, url)


def test_mirrors_are_tried_in_order(tmp_path: Path, web: Web) -> None:
    wrong = web.serve("/wrong", b"an error page")
    path = get(tmp_path, web.url("/missing"), wrong, web.serve("/right", DATA))
    assert [path for path, _ in web.requests] == ["/missing", "/wrong", "/right"]
    assert path.name == "missing"


def test_a_mirror_finishes_what_another_began(tmp_path: Path, web: Web) -> None:
    first = web.serve("/first", DATA, cut_after=[90_000, 0, 0, 0, 0])
    get(tmp_path, first, web.serve("/second", DATA))
    assert web.requests[-1] == ("/second", "bytes=90000-")


def test_when_no_mirror_has_the_file_each_problem_is_told_in_one_line(
    tmp_path: Path, web: Web
) -> None:
    urls = (web.url("/a.tgz"), web.serve("/wrong", b"an error page"))
    with pytest.raises(UserError) as caught:
        get(tmp_path, *urls)
    message = str(caught.value)
    assert message.startswith("cannot download a.tgz (127.0.0.1") and "\n" not in message
    assert "404 Not Found; 127.0.0.1" in message and f"expected {SHA256}" in message
    assert f"put the file of {urls[0]} at {tmp_path}" in message
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_without_a_network_the_error_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a.tgz"
    with pytest.raises(UserError, match=r"cannot download a\.tgz \(.*Connection refused\)"):
        get(tmp_path, url)
    with pytest.raises(UserError, match=r"cannot download a\.tgz \(nowhere\.invalid: "):
        get(tmp_path, "http://nowhere.invalid/a.tgz")


def test_a_file_put_there_by_hand_is_taken_and_verified(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "a").write_bytes(DATA)
    get(tmp_path, "http://host/a")
    (tmp_path / "host" / "a").write_bytes(DATA[1:])
    with pytest.raises(UserError, match=r"host/a has sha256:.*, expected sha256:.*: delete it"):
        get(tmp_path, "http://host/a")


def test_what_was_recorded_on_first_use_is_verified_afterwards(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA)
    path = get(tmp_path, url, checksum=None)
    path.write_bytes(DATA + b"x")
    with pytest.raises(UserError, match=r"a has sha256:.*; or delete .*a\.sha256 to accept it"):
        get(tmp_path, url, checksum=None)


def test_a_new_download_forgets_what_was_unpacked_from_the_old(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA)
    path = get(tmp_path, url)
    folder = Path(members_folder(path))
    folder.mkdir()
    path.unlink()
    get(tmp_path, url)
    assert not folder.exists()


def test_a_place_that_cannot_be_written_is_not_blamed_on_the_network(
    tmp_path: Path, web: Web
) -> None:
    url = web.serve("/a", DATA)
    part = tmp_path / f"127.0.0.1_{web.server_port}" / "a.part"
    part.mkdir(parents=True)
    with pytest.raises(IsADirectoryError) as caught:
        get(tmp_path, url)
    assert caught.value.filename == str(part)
    assert len(web.requests) == 1
