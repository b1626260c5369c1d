from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import find_inputs
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.corpora.corpus_config import CorpusConfig
from pipeline.corpora.inputs import AlignedTexts, Text
from pipeline.corpora.named_dataset import Part


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces downloads by texts whose names are the requested part, language and cache."""

    def fetch_part(part: Part, source: str, target: str, cache_dir: str) -> AlignedTexts:
        name = f"{part.name}.{{}}@{cache_dir}"
        return AlignedTexts(Text(name.format(source)), Text(name.format(target)))

    def fetch_parts(parts: Sequence[Part], *given: str) -> list[AlignedTexts]:
        return [fetch_part(part, *given) for part in parts]

    monkeypatch.setattr(find_inputs, "fetch_part", fetch_part)
    monkeypatch.setattr(find_inputs, "fetch_parts", fetch_parts)


def names(split: str, languages: tuple[str, str] = ("en", "de"), **corpus: Any) -> list[str]:
    files = {
        name: corpus.pop(name, ())
        for name in ("source_files", "target_files", "dev_source_files", "dev_target_files")
    }
    config = PreprocessConfig(
        **files,
        source_language=languages[0],
        target_language=languages[1],
        corpus=CorpusConfig(cache_dir="c", **corpus),
    )
    return [entry.name for entry in find_inputs.find_inputs(config, split)]


def test_the_default_is_the_built_in_corpus() -> None:
    assert names("test") == ["builtin test source + builtin test target"]


def test_the_built_in_corpus_in_other_languages_is_refused() -> None:
    with pytest.raises(UserError, match="in en and de: received the languages en and fr"):
        names("train", ("en", "fr"))


def test_a_named_data_set_has_its_own_dev_and_test() -> None:
    assert names("train", ("de", "en"), dataset="multi30k_en_de") == ["train.de@c + train.en@c"]
    assert names("dev", ("de", "en"), dataset="multi30k_en_de") == ["val.de@c + val.en@c"]
    assert names("dev", dataset="wmt14_en_de") == ["newstest2013.en@c + newstest2013.de@c"]
    assert names("test", dataset="wmt14_en_de") == ["newstest2014.en@c + newstest2014.de@c"]
    assert len(names("train", ("fr", "en"), dataset="wmt14_en_fr")) == 5


def test_an_evaluation_set_is_named_for_any_training_text() -> None:
    files: dict[str, Any] = {"source_files": ("a",), "target_files": ("b",)}
    assert names("test", **files) == []
    assert names("dev", **files, dev_dataset="newstest2014") == [
        "newstest2014.en@c + newstest2014.de@c"
    ]
    assert names("dev", dataset="multi30k_en_de", dev_dataset="newstest2013") == [
        "newstest2013.en@c + newstest2013.de@c"
    ]


def test_given_files_add_to_training_text_and_replace_dev() -> None:
    given: dict[str, Any] = {
        "dataset": "multi30k_en_de",
        "source_files": ("a",),
        "target_files": ("b",),
        "pair_files": ("c.tsv",),
        "dev_pair_files": ("d.csv", "e.tmx"),
    }
    assert names("train", **given) == ["train.en@c + train.de@c", "a + b", "c.tsv"]
    assert names("dev", **given) == ["d.csv", "e.tmx"]
    assert names("test", **given) == ["test_2016_flickr.en@c + test_2016_flickr.de@c"]


def test_columns_and_encodings_reach_the_files(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes("1\tfünf\tfive\n".encode("latin-1"))
    corpus = CorpusConfig(
        pair_files=(str(path),), encoding=("latin-1",), source_column="3", target_column="2"
    )
    (table,) = find_inputs.find_inputs(PreprocessConfig(corpus=corpus), "train")
    assert list(table.read()) == [("five", "fünf")]  # type: ignore[union-attr]


def test_disk_space_is_checked_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    full = type("Usage", (), {"free": 2_000_000_000})
    monkeypatch.setattr("shutil.disk_usage", lambda place: full)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        names("train", dataset="wmt14_en_de")
    assert str(caught.value) == (
        "--dataset=wmt14_en_de requires about 3.0 GB in c and 2.7 GB in data/demo, and 2.0 GB are "
        "free there: free some space, or choose folders on a larger disk"
    )
    assert names("dev", dataset="wmt14_en_de")
    assert names("train", dataset="multi30k_en_de")  # of no published size
