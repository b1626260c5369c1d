"""The distribution holds our packages and asks for what they import, each bound stated once."""

import re
import runpy
import subprocess
import sys
import tarfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import setuptools
from packaging.requirements import Requirement

from tests.architecture.source import PACKAGES, ROOT, find_imports, read_modules

PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
LOCK, GPU_LOCK = "requirements.lock", "requirements-gpu.lock"


@pytest.fixture
def distribution(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Keyword arguments that setup.py gives to setuptools."""
    arguments: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", arguments.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / "setup.py"))
    return arguments


def read_requirements() -> list[Requirement]:
    """Parses requirements.txt, independently of setup.py's own reader."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    texts = [re.sub(r"(^|\s)#.*", "", line).strip() for line in lines]
    return [Requirement(text) for text in texts if text]


def names(requirements: list[str]) -> set[str]:
    return {Requirement(requirement).name for requirement in requirements}


def imported_distributions(*, include_lazy: bool, packages: tuple[str, ...]) -> set[str]:
    """Returns the distributions that modules of these packages import."""
    providers = packages_distributions()
    return {
        providers[statement.package][0]
        for statement in find_imports(read_modules())
        if statement.importer.partition(".")[0] in packages
        and (include_lazy or not statement.lazy)
        and statement.package not in {*sys.stdlib_module_names, *PACKAGES}
    }


def test_setup_and_requirements_agree(distribution: dict[str, Any]) -> None:
    extras = distribution["extras_require"]
    listed = [*distribution["install_requires"], *extras["train"], *extras["dev"]]
    assert sorted(listed) == sorted({*listed}), "a requirement is listed twice"
    assert {str(Requirement(line)) for line in listed} == set(map(str, read_requirements()))


def test_gpu_extra_is_the_same_tensorflow_with_cuda(distribution: dict[str, Any]) -> None:
    (gpu,) = map(Requirement, distribution["extras_require"]["gpu"])
    requirements = read_requirements()
    (cpu,) = (line for line in requirements if line.name == "tensorflow")
    assert (gpu.name, gpu.extras, gpu.specifier) == (cpu.name, {"and-cuda"}, cpu.specifier)


def test_distribution_holds_our_packages_and_nothing_else(distribution: dict[str, Any]) -> None:
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    assert set(distribution["packages"]) == folders


def test_pipeline_imports_only_what_a_worker_installs(distribution: dict[str, Any]) -> None:
    imported = imported_distributions(include_lazy=False, packages=("pipeline",))
    assert imported <= names(distribution["install_requires"])


def test_every_imported_library_is_required(distribution: dict[str, Any]) -> None:
    imported = imported_distributions(include_lazy=True, packages=PACKAGES)
    extras = distribution["extras_require"]
    assert imported <= names([*distribution["install_requires"], *extras["train"]])


def read_lock(name: str) -> dict[str, str]:
    """Maps each distribution of a lock to its entry: version, markers and hashes, no comments."""
    text = re.sub(r"^ *#.*\n", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    return {pin[1]: entry for entry in entries if (pin := PIN.match(entry))}


def test_lock_pins_what_is_required() -> None:
    pins = dict(PIN.findall((ROOT / LOCK).read_text(encoding="utf-8")))
    unmet = [
        f"{requirement}, locked {pins.get(requirement.name, 'never')}"
        for requirement in read_requirements()
        if requirement.name not in pins or pins[requirement.name] not in requirement.specifier
    ]
    assert unmet == [], "run `make lock`"


def test_the_gpu_lock_adds_cuda_libraries_and_changes_nothing() -> None:
    cpu, gpu = read_lock(LOCK), read_lock(GPU_LOCK)
    added = gpu.keys() - cpu.keys()
    assert "nvidia-cudnn-cu12" in added
    assert {name.partition("-")[0] for name in added} == {"nvidia"}
    changed = [name for name in cpu if gpu.get(name) != cpu[name]]
    assert changed == [], "run `make lock`"


@pytest.mark.parametrize("lock", [LOCK, GPU_LOCK])
def test_every_pin_in_a_lock_has_a_hash(lock: str) -> None:
    entries = read_lock(lock)
    assert "tensorflow" in entries
    assert [name for name, entry in entries.items() if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("lock", [LOCK, GPU_LOCK])
def test_a_lock_names_no_index_of_one_machine(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|--(extra-)?index-url|--find-links", text)


def test_source_distribution_can_be_built_from(tmp_path: Path) -> None:
    """A Beam worker builds from the archive alone: setup.py must find its bounds there."""
    build = ["setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    run_python([*build, "sdist", "--dist-dir", str(tmp_path)], ROOT)
    (archive,) = tmp_path.glob("beamformer-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.glob("beamformer-*") if path.is_dir())
    assert run_python(["setup.py", "-q", "--name"], unpacked).split() == ["beamformer"]


def run_python(arguments: list[str], folder: Path) -> str:
    command = [sys.executable, "-W", "ignore", *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout
