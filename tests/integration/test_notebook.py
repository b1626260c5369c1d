"""The notebook runs from end to end, and its file holds the outputs of a run."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.architecture.source import ROOT
from tests.helpers.notebook import execute, read

PATH = ROOT / "notebooks" / "attention_is_all_you_need.ipynb"
# A model that has learned nothing would write as long as it may.
TINY = {
    "UPDATES = 800": "UPDATES = 4",
    "num_layers=2": "num_layers=1",
    "tokens_per_batch=4096": "tokens_per_batch=512",
    "eval_sentences=200": "eval_sentences=8, extra_length=1, beam_size=1",
}


@pytest.mark.heavy
def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = read(PATH)
    for cell, outputs in execute(notebook, TINY):
        kinds = [sorted(output.get("data", {"stream": []})) for output in outputs]
        kept = [sorted(output.get("data", {"stream": []})) for output in cell["outputs"]]
        assert kinds == kept, cell["source"]


def test_outputs_with_pictures_are_kept_in_a_small_file() -> None:
    cells = [cell for cell in read(PATH)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert PATH.stat().st_size < 2**20
    outputs = [output for cell in cells for output in cell["outputs"]]
    forms = [output.get("data", {}) for output in outputs]
    svgs = [form["image/svg+xml"] for form in forms if "image/svg+xml" in form]
    assert len(svgs) >= 15
    for svg in svgs:
        ElementTree.fromstring("".join(svg))


def test_comparisons_by_hand_agree() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert text.count("'the same'") + text.count("the same\\n") >= 7
    assert "Error" not in text


def test_text_that_is_not_there_is_not_replaced() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        list(execute(read(PATH), {"nowhere": ""}))
