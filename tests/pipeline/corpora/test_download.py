import hashlib
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.common.errors import UserError
from pipeline.corpora import transfer
from pipeline.corpora.download import Download, fetch, members_folder, missing_bytes
from tests.helpers.web_server import Web, serving

DATA = bytes(number % 251 for number in range(300_000))
SHA256 = f"sha256:{hashlib.sha256(DATA).hexdigest()}"
MD5 = f"md5:{hashlib.md5(DATA).hexdigest()}"


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as web:
        yield web


def get(cache: Path, *urls: str, checksum: str | None = SHA256, size: int | None = None) -> Path:
    waits: list[float] = []
    path = Path(fetch(Download(urls, checksum, size), str(cache), waits.append))
    assert path.read_bytes() == DATA
    assert all(1 <= wait <= 8 for wait in waits)
    names = sorted(entry.name for entry in path.parent.iterdir())
    assert names == [path.name, f"{path.name}.sha256"], "leftover files"
    return path


@pytest.mark.parametrize("checksum", [SHA256, MD5, None])
def test_a_file_is_downloaded_once(tmp_path: Path, web: Web, checksum: str | None) -> None:
    url = web.serve("/deep/a%20b.tgz", DATA)
    path = get(tmp_path, url, checksum=checksum)
    assert path == tmp_path / f"127.0.0.1_{web.server_port}" / "deep" / "a b.tgz"
    assert get(tmp_path, url, checksum=checksum) == path
    assert web.requests == [("/deep/a%20b.tgz", None)]


def test_the_checksum_is_written_beside_the_file(tmp_path: Path, web: Web) -> None:
    path = get(tmp_path, web.serve("/a", DATA), checksum=None)
    assert Path(f"{path}.sha256").read_text() == f"{SHA256.removeprefix('sha256:')}  a\n"


@pytest.mark.parametrize("checksum", [SHA256, None])
def test_a_broken_connection_is_resumed(tmp_path: Path, web: Web, checksum: str | None) -> None:
    url = web.serve("/a", DATA, cut_after=[100_000, 0, 0, 50_000], errors=[503])
    get(tmp_path, url, checksum=checksum)
    ranges = [None, None, *["bytes=100000-"] * 3, "bytes=150000-"]
    assert [byte_range for _, byte_range in web.requests] == ranges


def test_a_later_run_resumes_a_partial_file(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA, cut_after=[70_000, 0, 0, 0, 0])
    with pytest.raises(UserError, match=r"received 70000 of 300000 bytes"):
        get(tmp_path, url)
    web.requests.clear()
    get(tmp_path, url)
    assert web.requests == [("/a", "bytes=70000-")]


def test_a_server_without_ranges_sends_the_whole_file_again(tmp_path: Path, web: Web) -> None:
    get(tmp_path, web.serve("/a", DATA, cut_after=[100_000], ranges=False))
    assert [byte_range for _, byte_range in web.requests] == [None, "bytes=100000-"]


def test_a_response_with_another_range_is_refused(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA, cut_after=[100_000], shift=10)
    with pytest.raises(
        UserError, match="received the range bytes 100010-.*, expected bytes 100000-"
    ):
        get(tmp_path, url, checksum=None)


def test_a_network_failure_after_the_first_byte_is_waited_for(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[urllib.request.Request] = []
    urlopen = urllib.request.urlopen

    def fail_second(request: urllib.request.Request, timeout: float) -> Any:
        requests.append(request)
        if len(requests) == 2:
            raise urllib.error.URLError("no network")
        return urlopen(request, timeout=timeout)

    monkeypatch.setattr(urllib.request, "urlopen", fail_second)
    get(tmp_path, web.serve("/a", DATA, cut_after=[9]))
    assert [request.get_header("Range") for request in requests] == [None, *["bytes=9-"] * 2]


def test_a_file_that_changed_is_downloaded_from_the_start(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", b"x" * 300_000, cut_after=[100_000, 0, 0, 0, 0])
    with pytest.raises(UserError):
        get(tmp_path, url, checksum=None)
    web.serve("/a", DATA, etag='"2"')
    get(tmp_path, url, checksum=None)


@pytest.mark.parametrize("rest", [b"x" * 1000, b"x" * 300_000, b"x" * 400_000])
def test_a_partial_file_of_other_bytes_is_discarded(tmp_path: Path, web: Web, rest: bytes) -> None:
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


def test_a_mirror_resumes_the_partial_file_of_another(tmp_path: Path, web: Web) -> None:
    first = web.serve("/first", DATA, cut_after=[90_000, 0, 0, 0, 0])
    get(tmp_path, first, web.serve("/second", DATA))
    assert web.requests[-1] == ("/second", "bytes=90000-")


def test_if_no_mirror_has_the_file_one_line_names_every_problem(tmp_path: Path, web: Web) -> None:
    urls = (web.url("/a.tgz"), web.serve("/wrong", b"an error page"))
    with pytest.raises(UserError) as caught:
        get(tmp_path, *urls)
    message = str(caught.value)
    assert message.startswith("cannot download a.tgz (127.0.0.1") and "\n" not in message
    assert "404 Not Found; 127.0.0.1" in message and f"expected {SHA256}" in message
    assert f"copy the file of {urls[0]} to {tmp_path}" in message
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_without_a_network_the_error_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a.tgz"
    with pytest.raises(UserError, match=r"cannot download a\.tgz \(.*Connection refused\)"):
        get(tmp_path, url)
    with pytest.raises(UserError, match=r"cannot download a\.tgz \(nowhere\.invalid: "):
        get(tmp_path, "http://nowhere.invalid/a.tgz")


def test_a_file_put_into_the_cache_by_hand_is_verified(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "a").write_bytes(DATA)
    get(tmp_path, "http://host/a")
    (tmp_path / "host" / "a").write_bytes(DATA[1:])
    with pytest.raises(UserError, match=r"host/a: received sha256:.*, expected sha256:.*: delete"):
        get(tmp_path, "http://host/a")


def test_a_checksum_recorded_on_first_use_is_verified_later(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA)
    path = get(tmp_path, url, checksum=None)
    path.write_bytes(DATA + b"x")
    with pytest.raises(UserError, match=r"a: received sha256:.*; or delete .*a\.sha256 to acc"):
        get(tmp_path, url, checksum=None)


def test_a_new_download_deletes_the_members_of_the_old(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA)
    path = get(tmp_path, url)
    folder = Path(members_folder(path))
    folder.mkdir()
    path.unlink()
    get(tmp_path, url)
    assert not folder.exists()


def test_an_unwritable_path_is_not_reported_as_a_network_problem(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA)
    part = tmp_path / f"127.0.0.1_{web.server_port}" / "a.part"
    part.mkdir(parents=True)
    with pytest.raises(IsADirectoryError) as caught:
        get(tmp_path, url)
    assert caught.value.filename == str(part)
    assert len(web.requests) == 1


def test_a_file_without_checksum_must_have_its_published_size(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA)
    with pytest.raises(UserError, match="received 300000 bytes, expected 300001"):
        get(tmp_path, url, checksum=None, size=len(DATA) + 1)
    path = get(tmp_path, url, checksum=None, size=len(DATA))
    path.write_bytes(DATA[1:])
    with pytest.raises(UserError, match=r"/a: received 299999 bytes, expected 300000: delete it"):
        get(tmp_path, url, checksum=None, size=len(DATA))


def test_the_time_for_all_files_is_told_once_the_rate_is_known(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(transfer, "_SECONDS_TO_MEASURE", 0.0)
    monkeypatch.setattr(transfer, "_CHUNK", len(DATA) // 3)
    caplog.set_level("INFO")
    download = Download((web.serve("/a", DATA),), SHA256)
    fetch(download, str(tmp_path), following=1_600_000_000)
    (line,) = [line for line in caplog.messages if "at this rate" in line]
    assert re.search(
        r"Download a: 0\.\d of 0\.3 MB, 1\.6 GB in all, about \d+\w+ at this rate", line
    )


def test_what_is_missing_is_known_before_the_download(tmp_path: Path, web: Web) -> None:
    url = web.serve("/a", DATA, cut_after=[70_000, 0, 0, 0, 0])
    download = Download((url,), SHA256, len(DATA))
    assert missing_bytes(download, str(tmp_path)) == len(DATA)
    with pytest.raises(UserError):
        get(tmp_path, url)
    assert missing_bytes(download, str(tmp_path)) == len(DATA) - 70_000
    get(tmp_path, url)
    assert missing_bytes(download, str(tmp_path)) == 0
    assert missing_bytes(Download(("http://host/b",)), str(tmp_path)) == 0
