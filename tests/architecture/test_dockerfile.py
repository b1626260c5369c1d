"""The image of a worker has the versions of this package, of Beam and of Python that we test."""

import re
import shlex
import subprocess
from pathlib import Path

from tests.architecture.source import ROOT
from tests.architecture.test_packaging import LOCK, PIN, distribution

__all__ = ["distribution"]  # a fixture
TEXT = (ROOT / "Dockerfile").read_text("utf-8")


def pins_of(text: str) -> dict[str, str]:
    return {name: version.strip() for name, version in PIN.findall(text)}


PINS = pins_of((ROOT / LOCK).read_text("utf-8"))


def test_its_versions_are_those_of_setup_and_lock(distribution: dict[str, object]) -> None:
    (base,) = re.findall(r"^FROM (\S+)$", TEXT, re.MULTILINE)
    (python,) = re.findall(r'target-version = "py3(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert base == f"apache/beam_python3.{python}_sdk:{PINS['apache-beam']}"
    versions = set(re.findall(r"beamformer[-:]([\d.]+\d)", TEXT))
    assert versions == {distribution["version"]}


def test_its_extras_exist(distribution: dict[str, dict[str, object]]) -> None:
    (extras,) = re.findall(r"^ARG EXTRAS=(\S+)$", TEXT, re.MULTILINE)
    assert set(extras.split(",")) <= set(distribution["extras_require"])


def test_its_constraints_are_all_pins_of_the_lock(tmp_path: Path) -> None:
    (command,) = re.findall(r"^RUN (sed .*) > constraints.txt", TEXT, re.MULTILINE)
    result = subprocess.run(
        shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = [line for line in result.stdout.splitlines() if line.split("#")[0].strip()]
    assert pins_of(result.stdout) == PINS
    assert len(lines) == len(PINS) and not re.search(r"hash|\\", "".join(lines))


def test_what_it_copies_is_in_its_context() -> None:
    (copied,) = re.findall(r"^COPY (.*) \./$", TEXT, re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert ignored == ["*", "!requirements.lock", "!dist/*.whl"]
    for path in copied.split():
        assert any(Path(path).match(pattern.strip("!")) for pattern in ignored[1:]), path
