"""Which lock `make` installs, and on which devices its commands run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

SHOW = 'show:\n\t@echo "$(LOCK) $(ENVIRONMENT) [$$CUDA_VISIBLE_DEVICES]"\n'
ON_CPU = "requirements.lock .venv/requirements.lock [-1]"
ON_GPUS = "requirements-gpu.lock .venv/requirements-gpu.lock [0,1]"


def make(folder: Path, *arguments: str) -> str:
    """Runs make with the repository's Makefile in another folder."""
    variables = {  # without those of a make that runs the tests
        name: value
        for name, value in os.environ.items()
        if name not in ("GPU", "MFLAGS") and not name.startswith("MAKE")
    }
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "show.mk").write_text(SHOW)
    result = subprocess.run(
        ["make", "-f", "Makefile", "-f", "show.mk", *arguments],
        cwd=folder,
        env={**variables, "CUDA_VISIBLE_DEVICES": "0,1"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize(
    ("installed", "arguments", "expected"),
    [
        (None, [], ON_CPU),
        (None, ["GPU=1"], ON_GPUS),
        (None, ["GPU=0"], ON_CPU),
        ("requirements.lock", [], ON_CPU),
        ("requirements.lock", ["GPU=1"], ON_GPUS),
        ("requirements-gpu.lock", [], ON_GPUS),
        ("requirements-gpu.lock", ["GPU=0"], ON_CPU),
    ],
)
def test_cuda_libraries_are_installed_on_request_and_kept(
    tmp_path: Path, installed: str | None, arguments: list[str], expected: str
) -> None:
    if installed:
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / installed).touch()
    assert make(tmp_path, "show", *arguments) == expected


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-gpu.lock"])
def test_the_environment_is_made_from_its_lock_alone(tmp_path: Path, lock: str) -> None:
    gpu = "GPU=1" if "gpu" in lock else "GPU=0"
    commands = make(tmp_path, "--dry-run", ".venv", gpu)
    assert f"--require-hashes -r {lock}\n" in commands
    assert commands.endswith(f"cp {lock} .venv/{lock}")
