"""The wheel, installed into an environment of its own, works from any folder."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.architecture.source import ENTRY_POINTS, PACKAGES, ROOT

IMPORT_EVERYTHING = f"""
import importlib, pkgutil
for package in {PACKAGES}:
    module = importlib.import_module(package)
    print(*module.__path__)
    for submodule in pkgutil.walk_packages(module.__path__, package + "."):
        importlib.import_module(submodule.name)
from pipeline.corpora.builtin.lexicon import lexicon
print(len(lexicon().kinds))
from trainer.pages.html import page
print(page("title", {{}}, scripts=["charts.js"]))
"""


def run(*command: str | Path, folder: Path) -> str:
    """Runs a program that sees nothing of this checkout."""
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel; its libraries are ours."""
    folder = tmp_path_factory.mktemp("wheel")
    sources = folder / "sources"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, sources / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "README.md", "requirements.txt", "pyproject.toml", "MANIFEST.in"):
        shutil.copy(ROOT / name, sources)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, sources, folder=folder)
    (wheel,) = folder.glob("beamformer-*.whl")
    shutil.rmtree(sources)
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    run(*pip, "--python", python, "install", "--no-deps", "--no-index", wheel, folder=folder)
    (site_packages,) = (folder / "env").glob("lib/python*/site-packages")
    (site_packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return python


def test_every_module_and_data_file_is_in_the_wheel(python: Path, tmp_path: Path) -> None:
    *folders, kinds, html = run(python, "-c", IMPORT_EVERYTHING, folder=tmp_path).split(
        "\n", len(PACKAGES) + 1
    )
    assert all(Path(folder).is_relative_to(python.parents[1]) for folder in folders), folders
    assert int(kinds) > 20
    assert "<style>" in html and "<script>" in html


@pytest.mark.parametrize("command", sorted(ENTRY_POINTS))
def test_every_command_starts_from_another_folder(
    command: str, python: Path, tmp_path: Path
) -> None:
    assert f"python -m {command}" in run(python, "-m", command, "--help", folder=tmp_path)
