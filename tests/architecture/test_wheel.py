"""The wheel, installed into an environment of its own, works from any folder."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from beamformer.commands import MODULES
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


OUTSIDE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(*command: str | Path, folder: Path) -> str:
    """Runs a program that sees nothing of this checkout."""
    result = subprocess.run(command, cwd=folder, env=OUTSIDE, capture_output=True, text=True)
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


def test_every_command_has_a_name_of_its_own() -> None:
    assert sorted(MODULES.values()) == sorted(ENTRY_POINTS)


@pytest.mark.parametrize("command", sorted(MODULES))
def test_named_commands_start_beside_modules_of_the_same_names(
    command: str, python: Path, tmp_path: Path
) -> None:
    shadow_packages(tmp_path)
    assert f"python -m {MODULES[command]}" in run(
        python.with_name(command), "--help", folder=tmp_path
    )


def test_worker_processes_start_beside_modules_of_the_same_names(
    python: Path, tmp_path: Path
) -> None:
    shadow_packages(tmp_path)
    for side in ("en", "de"):
        (tmp_path / f"text.{side}").write_text("".join(f"{n} {n * 7}\n" for n in range(200)))
    run(
        python.with_name("beamformer-preprocess"),
        "--source_files=text.en",
        "--target_files=text.de",
        "--vocabulary_size=280",
        "--num_workers=2",
        "--block_lines=100",
        folder=tmp_path,
    )
    assert (tmp_path / "data" / "demo" / "COMPLETED").exists()


def test_the_import_names_a_module_that_hides_a_package(python: Path, tmp_path: Path) -> None:
    program = "import beamformer as bf; print(bf.SearchConfig())"
    assert run(python, "-c", program, folder=tmp_path).startswith("SearchConfig(beam_size=4")
    shadow_packages(tmp_path)
    result = subprocess.run(
        [python, "-c", program], cwd=tmp_path, env=OUTSIDE, capture_output=True, text=True
    )
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("ImportError")]
    assert f"found {tmp_path / 'model.py'}, expected Beamformer's package 'model'" in line


def shadow_packages(folder: Path) -> None:
    """Writes modules of a user's own with the names of our packages."""
    for name in ("model", "pipeline", "trainer"):
        (folder / f"{name}.py").write_text('raise RuntimeError("the user\'s own")\n')


@pytest.mark.parametrize("command", sorted(ENTRY_POINTS))
def test_every_command_starts_from_another_folder(
    command: str, python: Path, tmp_path: Path
) -> None:
    assert f"python -m {command}" in run(python, "-m", command, "--help", folder=tmp_path)
