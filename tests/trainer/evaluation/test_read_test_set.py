"""Test sets from the dataset, from files and from sacreBLEU's cache."""

from pathlib import Path

import pytest
from sacrebleu.dataset import DATASETS
from sacrebleu.dataset.fake_sgml import FakeSGMLDataset

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset
from trainer.data.raw_text import read_text
from trainer.evaluation.driver import EvaluationConfig
from trainer.evaluation.read_test_set import EvaluationSet, GivenFiles, read_test_set
from trainer.evaluation.result import result_path

NOTHING = GivenFiles(None, ())


def read(name: str, dataset: Dataset, given: GivenFiles = NOTHING) -> EvaluationSet:
    return read_test_set(name, dataset, given, cache_dir="/nowhere")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sacreBLEU cache of wmt14/full and of a set with two references, without a network."""
    pair = {"en-de": ["source", "reference", "other"]}
    two = FakeSGMLDataset("two", data=["file:///nowhere/two.tgz"], langpairs=pair)
    monkeypatch.setitem(DATASETS, "two", two)
    lines = {
        "wmt14/full": {"src": "a\nb\u2028c\n", "ref": "x\n y\n"},
        "two": {"src": "a\nb\n", "ref:0": "x\ny\n", "ref:1": "v\nw\n"},
    }
    for name, texts in lines.items():
        dataset = DATASETS[name]
        monkeypatch.setattr(dataset, "_outdir", str(tmp_path / name))
        monkeypatch.setattr(dataset, "_rawdir", str(tmp_path / name / "raw"))
        for field in dataset.fieldnames("en-de"):
            path = Path(dataset._get_txt_file_path("en-de", field))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts.get(field, "of a document\n" * 2), "utf-8")
    return tmp_path


def test_a_set_of_sacrebleu_is_read_from_its_cache(cache: Path, tiny_dataset: Dataset) -> None:
    received = read("sacrebleu:wmt14/full", tiny_dataset)
    assert received == (["a", "b\u2028c"], [["x", " y"]], None)
    assert read("sacrebleu:two", tiny_dataset).references == [["x", "y"], ["v", "w"]]
    assert result_path("run", "sacrebleu:wmt14/full").name == "evaluation-sacrebleu-wmt14-full.json"


def test_what_sacrebleu_lacks_is_said_with_what_to_do(cache: Path, tiny_dataset: Dataset) -> None:
    with pytest.raises(UserError, match="=sacrebleu:wmt14/ful: expected a name .* --list prints"):
        read("sacrebleu:wmt14/ful", tiny_dataset)
    Path(DATASETS["two"]._get_txt_file_path("en-de", "src")).unlink()
    with pytest.raises(UserError, match="cannot be downloaded .* give --source_file"):
        read("sacrebleu:two", tiny_dataset)
    DATASETS["two"].langpairs = {"fr-cs": ["source", "reference"]}
    with pytest.raises(UserError, match="two, which has no en-de, .*but fr-cs"):
        read("sacrebleu:two", tiny_dataset)


def test_files_stand_in_for_a_set(tmp_path: Path, tiny_dataset: Dataset) -> None:
    (tmp_path / "source").write_bytes(b"a\r\nb")
    (tmp_path / "one").write_text("x\ny\n")
    (tmp_path / "other").write_text("v\nw\n")
    source, one, other = (str(tmp_path / name) for name in ("source", "one", "other"))
    given = GivenFiles(source, (one, other))
    received = read("sacrebleu:of-no-name", tiny_dataset, given)
    assert received == (["a", "b"], [["x", "y"], ["v", "w"]], None)


def test_further_references_join_those_of_the_dataset(
    tmp_path: Path, tiny_dataset: Dataset
) -> None:
    source, reference = read_text(tiny_dataset, "dev")
    (tmp_path / "more").write_text("more\n" * len(source))
    received = read("dev", tiny_dataset, GivenFiles(None, (str(tmp_path / "more"),)))
    assert received == (source, [reference, ["more"] * len(source)], None)
    (tmp_path / "more").write_text("more\n")
    with pytest.raises(UserError, match=f"more has 1 lines, expected {len(source)}, .* of dev"):
        read("dev", tiny_dataset, GivenFiles(None, (str(tmp_path / "more"),)))
    (tmp_path / "more").write_bytes(b"\xff\n")
    with pytest.raises(UserError, match="more is not UTF-8 .*iconv"):
        read("dev", tiny_dataset, GivenFiles(None, (str(tmp_path / "more"),)))
    with pytest.raises(UserError, match="no file .*missing: expected UTF-8"):
        read("dev", tiny_dataset, GivenFiles(None, (str(tmp_path / "missing"),)))


def test_files_are_of_one_test_set_with_references() -> None:
    with pytest.raises(ValueError, match="--split=dev,test: expected one test set"):
        EvaluationConfig(split=("dev", "test"), reference_files=("a",))
    with pytest.raises(ValueError, match="--source_file=a: expected --reference_files as well"):
        EvaluationConfig(source_file="a")
