"""The README's program for Keras runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import beamformer as bf
from pipeline.dataset.schema import Dataset
from tests.architecture.source import ROOT


def test_the_program_for_keras_runs(dataset: Dataset, tmp_path: Path) -> None:
    text = (ROOT / "beamformer" / "README.md").read_text("utf-8")
    (program,) = re.findall(r"^```python keras\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "demo").symlink_to(dataset.directory)
    program = program.replace("_dim=128", "_dim=16").replace("_dim=512", "_dim=24")
    program += "\nprint(transformer.config.num_layers)"
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "val_loss" in result.stdout
    assert result.stdout.split()[-1] == "2"


def test_every_call_in_the_table_exists() -> None:
    text = (ROOT / "beamformer" / "README.md").read_text("utf-8")
    for name in re.findall(r"`bf\.(\w+)", text):
        assert hasattr(bf, name), name
    methods = re.findall(r"`translator\.(\w+)\(", text)
    assert methods
    for name in methods:
        assert hasattr(bf.TrainedTranslator, name), name


@pytest.mark.parametrize("name", ["translate", "score"])
def test_an_exported_model_has_the_calls_that_it_promises(name: str) -> None:
    assert hasattr(bf.ExportedTranslator, name)
