"""Benchmark records: figures as JSON, with the machine, versions and commit that they belong to."""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.benchmarks import rivals

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).parent / "results"  # records that are committed

_LIBRARIES = ("tensorflow", "keras", "numpy", "sentencepiece", "apache-beam", "ctranslate2")
_RIVALS = {"opennmt_tf": ("OpenNMT-tf",), "torch": ("OpenNMT-py", "torch", "transformers")}
_WITH_RIVALS = {"training", "decoding", "learning_curve"}  # benchmarks
_NOT_CODE = (":!tests/benchmarks/results", ":!*.md")  # git's pathspecs
_INSTRUCTIONS = {"amx_tile": "AMX", "avx512f": "AVX-512", "avx2": "AVX2"}  # widest first

Record = dict[str, Any]


def output_flag(parser: argparse.ArgumentParser, benchmark: str) -> None:
    """Adds `--output`, the file of the record."""
    parser.add_argument("--output", type=Path, default=Path(f"{benchmark}.json"))


def write_record(benchmark: str, arguments: argparse.Namespace, results: Mapping[str, Any]) -> None:
    """Writes `results` to `arguments.output`, with all that they depend on.

    Args:
        benchmark: module in `tests.benchmarks` that measured.
        arguments: parsed flags; those that are not paths are recorded.
        results: raw figures of every round.
    """
    flags = {name: value for name, value in vars(arguments).items() if not isinstance(value, Path)}
    record = {
        "benchmark": benchmark,
        "flags": flags,
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "versions": versions() | (rival_versions() if benchmark in _WITH_RIVALS else {}),
        "results": results,
    }
    output: Path = arguments.output
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_records(folder: Path = RESULTS) -> list[Record]:
    """Returns the records of a folder, ordered by file name; `file` is the name of each."""
    return [
        {**json.loads(path.read_text(encoding="utf-8")), "file": path.name}
        for path in sorted(folder.glob("*.json"))
    ]


def commit() -> str:
    """Returns the commit that is checked out, with "+" if tracked code differs from it."""
    try:
        name = _git("rev-parse", "--short", "HEAD")
        changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *_NOT_CODE)
        return f"{name}+" if changes else name
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> dict[str, Any]:
    """Describes the processor: its name, widest vector instructions, cores that may be used."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    name = re.search(r"^model name\s*: (.*)", text, re.MULTILINE)
    flags = set(_first(re.findall(r"^flags\s*: (.*)", text, re.MULTILINE), "").split())
    instructions = [label for flag, label in _INSTRUCTIONS.items() if flag in flags]
    return {
        "processor": name[1] if name else platform.processor(),
        "instructions": _first(instructions, ""),
        "cores": len(os.sched_getaffinity(0)),
    }


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the libraries that matter."""
    numbers = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            numbers[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return numbers


def rival_versions() -> dict[str, str]:
    """Returns the pinned versions of other systems."""
    return {
        name: rivals.pinned_versions(file)[name]
        for file, names in _RIVALS.items()
        for name in names
    }


def _first(values: Iterable[str], default: str) -> str:
    return next(iter(values), default)


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
