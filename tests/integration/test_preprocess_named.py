"""A whole data set by name, from archives laid out as those on the web."""

import gzip
import io
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest

from pipeline.corpora import catalog
from pipeline.corpora.corpus_config import CorpusConfig
from pipeline.corpora.download import Download
from pipeline.dataset.schema import read_lines
from tests.helpers.preprocessing import WORDS, build, configure

MEMBERS = {
    "wmt14_en_de": {
        "training-parallel-europarl-v7.tgz": ["training/europarl-v7.de-en.{}"],
        "training-parallel-commoncrawl.tgz": ["commoncrawl.de-en.{}"],
        "training-parallel-nc-v9.tgz": ["training/news-commentary-v9.de-en.{}"],
        "dev.tgz": ["dev/newstest2013.{}"],
        "test-full.tgz": [
            f"test-full/newstest2014-deen-{role}.{{}}.sgm" for role in ("src", "ref")
        ],
    },
    "wmt14_en_fr": {
        "training-parallel-europarl-v7.tgz": ["training/europarl-v7.fr-en.{}"],
        "training-parallel-commoncrawl.tgz": ["commoncrawl.fr-en.{}"],
        "training-parallel-nc-v9.tgz": ["training/news-commentary-v9.fr-en.{}"],
        "training-parallel-un.tgz": ["un/undoc.2000.fr-en.{}"],
        "training-giga-fren.tar": ["giga-fren.release2.fixed.{}.gz"],
        "dev.tgz": ["dev/newstest2013.{}"],
        "test-full.tgz": [
            f"test-full/newstest2014-fren-{role}.{{}}.sgm" for role in ("src", "ref")
        ],
    },
}


def make_text(member: str, language: str) -> bytes:
    """Pairs that depend on the member; the test set's also tell its role."""
    if member.endswith(".sgm"):
        return f'<seg id="1">{member.split("-")[-1].split(".")[0]} {language}</seg>\n'.encode()
    rows = ((left, right) for left in WORDS for right in WORDS)
    side = 0 if language == "en" else 1
    text = "".join(
        f"{left[side]}, {right[side]}: {member[:20]}.\n" for left, right in rows
    ).encode()
    return gzip.compress(text) if member.endswith(".gz") else text


def make_archive(path: Path, members: list[str], languages: tuple[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as tar:
        for member in members:
            for language in languages:
                data = make_text(member, language)
                entry = tarfile.TarInfo(member.format(language))
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("swapped", [False, True])
def test_wmt14_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, swapped: bool
) -> None:
    languages = catalog.DATASETS[name].languages
    fetched = defaultdict[str, int](int)

    def fetch(download: Download, cache_dir: str, *, following: int) -> str:
        """Makes an archive instead of downloading it."""
        path = Path(cache_dir, download.name)
        fetched[path.name] += 1
        make_archive(path, MEMBERS[name][path.name], languages)
        return str(path)

    monkeypatch.setattr(catalog, "fetch", fetch)
    source, target = reversed(languages) if swapped else languages
    dataset = build(
        configure(
            tmp_path,
            "out",
            source_files=(),
            target_files=(),
            source_language=source,
            target_language=target,
            corpus=CorpusConfig(dataset=name, cache_dir=str(tmp_path / "cache")),
        )
    )
    parts = len(MEMBERS[name]) - 2
    assert fetched == dict.fromkeys(MEMBERS[name], 1)
    assert (dataset.name, dataset.counts["train"]["read"]) == (name, 64 * parts)
    assert [corpus.lines for corpus in dataset.corpora] == [64] * (parts + 1) + [1]
    assert str(tmp_path) not in dataset.to_json()
    texts = [dataset.splits["test"].source_text, dataset.splits["test"].target_text]
    lines = [read_lines(dataset.path(str(text))) for text in texts]
    assert lines == [[f"src {source}"], [f"ref {target}"]]
