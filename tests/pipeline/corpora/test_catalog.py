import hashlib
import io
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sacrebleu.dataset import DATASETS as SACREBLEU

from pipeline.common.errors import UserError
from pipeline.corpora import catalog
from pipeline.corpora.download import Download
from pipeline.corpora.inputs import AlignedTexts
from pipeline.corpora.named_dataset import Part, WebFile
from tests.helpers.web_server import Web, serving

PARTS = [part for dataset in catalog.DATASETS.values() for part in dataset.train]
PARTS += [part for parts in catalog.EVALUATION_SETS.values() for part in parts]
DOWNLOADS = {file.download for part in PARTS for file in part.files.values()}
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
