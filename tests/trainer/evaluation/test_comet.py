"""COMET is asked as its package documents, in a process of its own."""

import os
import sys
from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from trainer.evaluation.comet import score
from trainer.evaluation.result import MetricScore

# The interface of unbabel-comet 2.2 that is used, and what the calls must look like.
_COMET = """
import collections
__version__ = "2.2.7"
def download_model(model, saving_directory=None, local_files_only=False):
    if model != "Unbabel/wmt22-comet-da":
        raise KeyError(f"Model {model!r} not supported by COMET.")
    return "/downloads/" + model
def load_from_checkpoint(checkpoint_path, reload_hparams=False, strict=False):
    print("noise of a library")
    return Model(checkpoint_path)
class Model:
    def __init__(self, path):
        self.path = path
    def predict(self, samples, batch_size=16, gpus=1, progress_bar=True):
        assert gpus == 0 and 0 < batch_size
        assert all(sample.keys() == {"src", "mt", "ref"} for sample in samples)
        right = [float(sample["mt"] == sample["ref"] != sample["src"]) for sample in samples]
        mean = sum(right) / len(right) + ("downloads" not in self.path)
        return collections.namedtuple("Prediction", "scores system_score")(right, mean)
"""
_TORCH = "class cuda:\n    is_available = staticmethod(lambda: False)\n"


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for an environment with COMET."""
    (tmp_path / "comet.py").write_text(_COMET)
    (tmp_path / "torch.py").write_text(_TORCH)
    monkeypatch.setenv("PYTHONPATH", os.fspath(tmp_path))


TEXTS = (["a", "b", "c", "d\u00e4"], ["x", "y", "z", "w\u00f6"], ["x", "y", "-", "w\u00f6"])


def test_a_model_of_the_hub_scores_source_translation_and_reference() -> None:
    received = score(*TEXTS, model="Unbabel/wmt22-comet-da", python=sys.executable)
    assert received == MetricScore(
        75.0, None, None, "model:Unbabel/wmt22-comet-da|scale:100|version:2.2.7"
    )


def test_a_checkpoint_is_loaded_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "model.ckpt").touch()
    checkpoint = str(tmp_path / "model.ckpt")
    assert score(*TEXTS, model=checkpoint, python=sys.executable).score == 175.0


def test_what_failed_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--comet=other, and COMET failed: KeyError: .*not supp"):
        score(*TEXTS, model="other", python=sys.executable)
    with pytest.raises(UserError, match="--comet_python=/none/python .*No such file"):
        score(*TEXTS, model="other", python="/none/python")
