"""Other systems, each in a virtual environment of its own."""

import dataclasses
import subprocess
import sys
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    path: Path

    def program(self, name: str) -> str:
        """Returns where one of its programs is."""
        return str(self.path / "bin" / name)


def environment(name: str, work: Path) -> Environment:
    """Makes the environment of the versions in `NAME.txt`, if `WORK/environments` has it not.

    The file lists everything, so nothing is resolved, and a rival may meet a newer library than
    it asks for.
    """
    made = Environment(work / "environments" / name)
    if not made.path.exists():
        partial = made.path.with_suffix(".tmp")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(partial)], check=True)
        pip = [str(partial / "bin/python"), "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "-r", str(Path(__file__).with_name(f"{name}.txt"))], check=True)
        partial.rename(made.path)
    return made
