"""Time and peak memory of whole processes, measured from outside."""

import dataclasses
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

_SECONDS_BETWEEN_LOOKS = 0.1


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a command.

    wall: seconds.
    cpu: seconds of all its processes.
    peak_memory: peak resident MiB of its largest process.
    """

    wall: float
    cpu: float
    peak_memory: float


def measure(command: Sequence[str]) -> Run:
    """Runs a command to its end; requires Linux's /proc.

    Raises:
      SystemExit: the command failed; its output was shown.
    """
    before, start, peak = os.times(), time.monotonic(), 0.0
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        while process.poll() is None:
            peak = max([peak, *map(peak_memory, family(process.pid))])
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        wall, after = time.monotonic() - start, os.times()
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{output.read()}")
    user = after.children_user - before.children_user
    system = after.children_system - before.children_system
    return Run(wall, user + system, peak)


def alternate(
    contenders: Mapping[str, Callable[[], Result]], rounds: int
) -> dict[str, list[Result]]:
    """Runs every contender once per round, so that a busy minute slows down every contender."""
    results: dict[str, list[Result]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name, run in contenders.items():
            results[name].append(run())
            print(f"round {number + 1} of {rounds}: {name}: {results[name][-1]}", flush=True)
    return results


def medians(runs: Sequence[Run]) -> Run:
    """Returns the median of each figure."""
    columns = zip(*map(dataclasses.astuple, runs), strict=True)
    return Run(*map(statistics.median, columns))


def family(pid: int) -> list[int]:
    """Returns the ids of a process and its live descendants."""
    family = [pid]
    for member in family:
        for children in Path(f"/proc/{member}/task").glob("*/children"):
            try:
                family += map(int, children.read_text().split())
            except OSError:
                continue  # it has just ended
    return family


def peak_memory(pid: int) -> float:
    """Returns the peak resident MiB of a process; 0 if it has ended."""
    return _memory(pid, "VmHWM")


def resident_memory() -> float:
    """Returns the resident MiB of this process."""
    return _memory(os.getpid(), "VmRSS")


def _memory(pid: int, name: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name)), 0.0)
