"""Other systems, each in a virtual environment of its own."""

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    path: Path

    def program(self, name: str) -> str:
        """Returns the path of one of its programs."""
        return str(self.path / "bin" / name)


def environment(name: str, work: Path) -> Environment:
    """Creates the environment of `NAME.txt` in `WORK/environments`, unless it exists.

    The file lists every library, so nothing is resolved: a system may get a newer library than
    it asks for.
    """
    path = work / "environments" / name
    if not path.exists():
        python = str(path / "bin/python")
        versions = str(_version_file(name))
        try:
            subprocess.run([sys.executable, "-m", "venv", str(path)], check=True)
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", versions], check=True
            )
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)  # so that the next run starts from scratch
            raise
    return Environment(path)


def pinned_versions(name: str) -> dict[str, str]:
    """Returns the version of every library in `NAME.txt`."""
    lines = _version_file(name).read_text(encoding="utf-8").split()
    return {library: version for library, _, version in (line.partition("==") for line in lines)}


def _version_file(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.txt")
