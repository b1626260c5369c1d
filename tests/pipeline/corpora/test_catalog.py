import dataclasses
import hashlib
import io
import re
import tarfile
import urllib.parse
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sacrebleu.dataset import DATASETS as SACREBLEU

from pipeline.common.errors import UserError
from pipeline.corpora import catalog, wmt
from pipeline.corpora.download import Download
from pipeline.corpora.inputs import AlignedTexts
from pipeline.corpora.named_dataset import Part, WebFile
from tests.helpers.web_server import Web, serving

PARTS = [part for dataset in catalog.DATASETS.values() for part in dataset.train]
PARTS += [part for parts in catalog.EVALUATION_SETS.values() for part in parts]
ORIGINALS = {file.download for part in PARTS for file in part.files.values()}
MIRRORS = {
    file.download for part in PARTS for files in part.mirrors for file in files.values()
} - ORIGINALS
DOWNLOADS = ORIGINALS | MIRRORS
MULTI30K = Path(__file__).resolve().parents[3] / "shared" / "data" / "multi30k"


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as web:
        yield web


@pytest.mark.parametrize("name", catalog.DATASETS)
def test_every_data_set_is_complete_in_both_directions(name: str) -> None:
    dataset = catalog.DATASETS[name]
    first, second = dataset.languages
    for languages in ((first, second), (second, first)):
        parts = [*catalog.training_parts(name, *languages)]
        parts += [catalog.evaluation_part(name, *languages) for name in (dataset.dev, dataset.test)]
        assert all(part.covers(*languages) for part in parts)


def test_wmt14_has_the_published_numbers_of_pairs() -> None:
    counts = {
        name: sum(part.pairs or 0 for part in catalog.DATASETS[name].train)
        for name in ("wmt14_en_de", "wmt14_en_fr")
    }
    assert counts == {"wmt14_en_de": 4_520_620, "wmt14_en_fr": 40_842_333}


def test_downloads_have_complete_urls_and_checksums() -> None:
    lengths = {"sha256": 64, "md5": 32}
    for download in DOWNLOADS:
        schemes = ("https://", "http://") if download.checksum else ("https://",)
        assert all(url.startswith(schemes) for url in download.urls)
        assert len({url.rpartition("/")[2] for url in download.urls}) == 1
        if download.checksum:
            algorithm, _, digest = download.checksum.partition(":")
            assert re.fullmatch("[0-9a-f]*", digest) and len(digest) == lengths[algorithm]
    unknown = {
        download.urls[0].rpartition("/")[2] for download in DOWNLOADS if not download.checksum
    }
    assert unknown == {"training-parallel-un.tgz", "training-giga-fren.tar"}
    assert len({download.name for download in DOWNLOADS}) == len(DOWNLOADS)


def test_every_training_archive_of_wmt_has_a_mirror_of_a_second_party() -> None:
    hosts = {urllib.parse.urlsplit(download.urls[0]).netloc for download in MIRRORS}
    assert hosts == {"huggingface.co"}
    assert all(download.checksum and download.size for download in MIRRORS)
    for dataset in wmt.DATASETS.values():
        for part in dataset.train:
            (mirror,) = part.mirrors
            assert mirror.keys() == part.files.keys()
            for language, file in mirror.items():
                archive = file.download.name.rpartition("/")[2]
                original = part.files[language]
                assert archive.partition(".")[0] in original.download.name
                assert archive.endswith(".zip") and file.member == original.member
            assert part.hub and part.hub.startswith("hf:wmt/wmt14:")
    for name in ("newstest2013", "newstest2014"):
        assert all(part.mirrors for part in catalog.EVALUATION_SETS[name])


def test_sizes_are_those_that_users_are_told_of() -> None:
    sizes = {
        name: sum(
            next(iter(files.values())).download.size or 0
            for part in dataset.train
            for files in part.mirrors
        )
        for name, dataset in wmt.DATASETS.items()
    }
    # The hub's `download_size` also counts the archive of development sets.
    dev = wmt.DEV_ZIP.size or 0
    assert sizes["wmt14_en_de"] == 1_696_003_559 - dev
    assert sizes["wmt14_en_de_t2t"] == 1_728_762_345 - dev
    assert sizes["wmt14_en_fr"] == 6_658_118_909 - dev


@pytest.mark.parametrize(
    ("name", "theirs"), [("newstest2014", "wmt14/full"), ("newstest2014_filtered", "wmt14")]
)
@pytest.mark.parametrize("source", ["en", "de", "fr"])
def test_newstest2014_is_what_sacrebleu_scores(name: str, theirs: str, source: str) -> None:
    for target in {"en": ("de", "fr")}.get(source, ("en",)):
        part = catalog.evaluation_part(name, source, target)
        download = part.files[source].download
        members = [
            str(part.files[language].member).replace("{role}", role)
            for language, role in ((source, "src"), (target, "ref"))
        ]
        assert SACREBLEU[theirs].langpairs[f"{source}-{target}"] == members
        assert [f"md5:{md5}" for md5 in SACREBLEU[theirs].md5] == [download.checksum]
        assert SACREBLEU[theirs].data[0] in download.urls


@pytest.mark.skipif(not MULTI30K.exists(), reason="needs ../shared/data")
def test_checksums_of_multi30k_are_those_of_its_files() -> None:
    downloads = [download for download in DOWNLOADS if "multi30k" in download.urls[0]]
    assert len(downloads) == 9
    for download in downloads:
        data = (MULTI30K / download.urls[0].rpartition("/")[2]).read_bytes()
        assert download.checksum == f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.mark.parametrize(
    ("name", "languages", "message"),
    [
        (
            "wmt14_en_fr",
            ("en", "de"),
            r"is in en and fr: received .*expected .*=en --target_l.*=fr",
        ),
        ("wmt15", ("en", "de"), "received --dataset=wmt15: expected hf:OWNER/NAME or one of wmt14"),
    ],
)
def test_a_wrong_name_or_language_is_explained(
    name: str, languages: tuple[str, str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        catalog.training_parts(name, *languages)


def test_a_wrong_evaluation_set_is_explained() -> None:
    with pytest.raises(UserError, match="received evaluation set x: expected one of newstest2013"):
        catalog.evaluation_part("x", "en", "de")
    with pytest.raises(UserError, match="newstest2014 is not in de and fr: it has de en; fr en"):
        catalog.evaluation_part("newstest2014", "de", "fr")


def make_part(web: Web, pairs: int | None = None) -> Part:
    """A part in one archive, whose files differ by role as WMT's test sets do."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for role in ("src", "ref"):
            for language in ("en", "de"):
                data = f'<seg id="1">{role} {language}</seg>\n'.encode()
                member = tarfile.TarInfo(f"./test/news-{role}.{language}.sgm")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    download = Download((web.serve("/x/test.tgz", buffer.getvalue()),))
    files = {
        language: WebFile(download, f"test/news-{{role}}.{language}.sgm")
        for language in ("en", "de")
    }
    return Part("news", files, pairs)


def read(texts: AlignedTexts) -> list[bytes]:
    return [*texts.source.read(), *texts.target.read()]


def test_a_part_is_fetched_once_for_both_directions(tmp_path: Path, web: Web) -> None:
    part = make_part(web, 7)
    texts = catalog.fetch_part(part, "en", "de", str(tmp_path))
    assert read(texts) == [b"src en\n", b"ref de\n"]
    assert read(catalog.fetch_part(part, "de", "en", str(tmp_path))) == [b"src de\n", b"ref en\n"]
    assert len(web.requests) == 1
    assert texts.expected_pairs == 7


def test_the_data_card_names_the_origin_and_no_path(tmp_path: Path, web: Web) -> None:
    texts = catalog.fetch_part(make_part(web), "en", "de", str(tmp_path))
    origin = web.url("/x/test.tgz::test/news")
    assert texts.name == f"{origin}-src.en.sgm + {origin}-ref.de.sgm"


def test_sides_may_be_downloads_of_their_own(tmp_path: Path, web: Web) -> None:
    files = {
        code: WebFile(Download((web.serve(f"/text.{code}", f"{code}\n".encode()),)))
        for code in ("en", "de")
    }
    assert read(catalog.fetch_part(Part("x", files), "de", "en", str(tmp_path))) == [
        b"de\n",
        b"en\n",
    ]


def make_mirrored_part(web: Web, hub: str | None = None) -> Part:
    """A part in an archive that the web server lacks, and the same text in a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for language in ("en", "de"):
            archive.writestr(f"training/x.{language}", f"{language}\n")
    zipped = Download((web.serve("/hub/x.zip", buffer.getvalue()),), size=len(buffer.getvalue()))
    gone = Download((web.url("/x/x.tgz"),))
    files, mirror = (
        {code: WebFile(download, f"training/x.{code}") for code in ("en", "de")}
        for download in (gone, zipped)
    )
    return Part("x", files, 1, (mirror,), hub)


def test_a_mirror_stands_in_for_a_dead_host(tmp_path: Path, web: Web) -> None:
    part = make_mirrored_part(web)
    texts = catalog.fetch_part(part, "en", "de", str(tmp_path))
    assert read(texts) == [b"en\n", b"de\n"]
    assert [path for path, _ in web.requests] == ["/x/x.tgz", "/hub/x.zip"]
    assert texts.source.name == web.url("/x/x.tgz::training/x.en")  # on every machine
    web.requests.clear()
    assert read(catalog.fetch_part(part, "en", "de", str(tmp_path))) == [b"en\n", b"de\n"]
    assert web.requests == []  # the dead host is not asked again


def test_if_all_hosts_are_dead_the_error_names_everything_that_helps(
    tmp_path: Path, web: Web
) -> None:
    part = make_mirrored_part(web, "hf:wmt/wmt14:de-en")
    web.files.clear()
    with pytest.raises(UserError) as caught:
        catalog.fetch_part(part, "en", "de", str(tmp_path))
    message = str(caught.value)
    host = f"127.0.0.1:{web.server_port}"
    assert message.startswith(
        f"cannot download x.tgz ({host}: 404 Not Found) or its mirror x.zip ({host}: 404 Not Found)"
    )
    folder = tmp_path / host.replace(":", "_")
    for path in ("x/x.tgz", "hub/x.zip"):
        assert f"copy the file of {web.url(f'/{path}')} to {folder / path}" in message
    assert message.endswith(
        "or give --dataset=hf:wmt/wmt14:de-en, the same text on the Hugging Face hub"
    )


def test_the_size_of_all_downloads_is_told_before_the_first(
    tmp_path: Path, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    part = make_mirrored_part(web)  # the size is that of the mirror, since the other is unknown
    large = dataclasses.replace(part.mirrors[0]["en"].download, size=2_500_000_000)
    for parts, size in (([part], "0.0 MB"), ([part, with_mirror(part, large)], "2.5 GB")):
        caplog.clear()
        web.files["/hub/x.zip"].errors = [404] * 9
        with pytest.raises(UserError):
            catalog.fetch_parts(parts, "en", "de", str(tmp_path / size))
        assert caplog.messages[0] == f"Download: {size} of {len(parts)} corpora"


def with_mirror(part: Part, download: Download) -> Part:
    files = {
        code: dataclasses.replace(file, download=download) for code, file in part.files.items()
    }
    return dataclasses.replace(part, mirrors=(files,))
