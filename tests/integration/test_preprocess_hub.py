"""The worked example of a small data set of the Hugging Face hub, from a copy of its layout."""

import re
import shlex
import sys
import types
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from pipeline.dataset.schema import load_dataset, read_lines
from tests.helpers.commands import REPOSITORY, call, one_line_error, succeed

README = (REPOSITORY / "pipeline" / "README.md").read_text("utf-8")
NAME = "PaulineSanchez/Translation_words_and_sentences_english_french"
FILE = "data/train-00000-of-00001-3d14582ea46e1b17.parquet"
COLUMNS = ("English words/sentences", "French words/sentences")
WORDS = {"cat": "chat", "dog": "chien", "bird": "oiseau", "horse": "cheval", "bear": "ours"}


def rows() -> dict[str, list[str]]:
    """Words, then sentences, as in the data set."""
    pairs = list(WORDS.items())
    pairs += [
        (f"The {a} saw the {b}, {number}.", f"Le {WORDS[a]} a vu le {WORDS[b]}, {number}.")
        for a in WORDS
        for b in WORDS
        for number in range(8)
    ]
    return {name: [pair[side] for pair in pairs] for side, name in enumerate(COLUMNS)}


@pytest.fixture
def _hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replaces the library `datasets` by one that reads repositories of a local folder."""
    path = tmp_path / "hub" / NAME / FILE
    path.parent.mkdir(parents=True)
    parquet.write_table(pyarrow.table(rows()), path)

    def files(name: str, split: str = "") -> list[Path]:
        return sorted((tmp_path / "hub" / name / "data").glob(f"{split}*.parquet"))

    def load(name: str, configuration: str | None, split: str) -> list[dict[str, Any]]:
        (path,) = files(name, split)
        return parquet.read_table(path).to_pylist()

    library: Any = types.ModuleType("datasets")
    library.load_dataset = load
    library.get_dataset_split_names = lambda name, _: [
        path.name.partition("-")[0] for path in files(name)
    ]
    monkeypatch.setitem(sys.modules, "datasets", library)


def example(output: Path) -> list[str]:
    """The flags of the example, except for the folder and sizes that suit so few pairs."""
    (command,) = re.findall(rf"^(python .*hf:{NAME}(?:[^\n]*\\\n)*[^\n]*)$", README, re.MULTILINE)
    _python, _m, module, *flags = shlex.split(command.replace("\\\n", " "))
    assert module == "pipeline.preprocess"
    return [*flags, f"--output_dir={output}", "--vocabulary_size=320", "--holdout_pairs=5"]


@pytest.mark.usefixtures("_hub")
def test_the_example_makes_a_dataset(tmp_path: Path) -> None:
    printed = succeed("pipeline.preprocess", *example(tmp_path / "out"))
    assert "English → French" in printed
    dataset = load_dataset(tmp_path / "out")
    assert dataset.name == f"hf:{NAME}"
    assert [corpus.name for corpus in dataset.corpora] == [f"hf:{NAME} train"]
    assert dataset.counts["train"]["read"] == len(rows()[COLUMNS[0]])
    pairs = set(zip(*rows().values(), strict=True))
    for split in ("dev", "test"):
        text = dataset.splits[split]
        lines = (read_lines(dataset.path(str(t))) for t in (text.source_text, text.target_text))
        held_out = set(zip(*lines, strict=True))
        assert len(held_out) == 5 and held_out < pairs


@pytest.mark.usefixtures("_hub")
def test_without_column_names_the_error_lists_them(tmp_path: Path) -> None:
    flags = [flag for flag in example(tmp_path / "out") if "column" not in flag]
    message = one_line_error(call("pipeline.preprocess", *flags))
    assert f"hf:{NAME} train, row 1 has no text at en or translation.en" in message
    assert f"it has {', '.join(COLUMNS)}; choose with --source_column" in message
    assert not (tmp_path / "out").exists()
