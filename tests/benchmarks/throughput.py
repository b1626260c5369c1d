"""Steady-state speed of a command, from the reports that it prints."""

import dataclasses
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.measure import family, peak_memory
from tests.benchmarks.workload import THREADS

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_ENVIRONMENT = dict(os.environ)  # without what our start of TensorFlow adds


@dataclasses.dataclass(frozen=True)
class Trainer:
    """A command that prints its speed at intervals.

    report: pattern of a line with the speed since the previous one, such as real tokens per second;
        its groups are added, such as those of source and target.
    """

    command: Sequence[str]
    report: str
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Throughput:
    """Speed between the first and the last report.

    tokens_per_second: real tokens of source and target.
    cpu: microseconds of processor time per token.
    peak_memory: peak resident MiB of the largest process.
    """

    tokens_per_second: float
    cpu: float
    peak_memory: float


@dataclasses.dataclass(frozen=True)
class _Report:
    time: float
    cpu: float
    tokens_per_second: float
    peak_memory: float


def follow(trainer: Trainer, reports: int, log: Path) -> Throughput:
    """Runs the command until it has printed a number of reports, then kills it.

    What comes before the first report, such as start and compilation, is excluded.

    Raises:
      SystemExit: the command ended before; its output is in `log`.
    """
    environment = {
        **_ENVIRONMENT,
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": str(THREADS),
        **trainer.environment,
    }
    process = subprocess.Popen(
        trainer.command,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    seen: list[_Report] = []
    try:
        with log.open("w") as copy:
            for line in process.stdout or ():
                copy.write(line)
                if match := re.search(trainer.report, line):
                    seen.append(_look(process.pid, match.groups()))
                if len(seen) == reports:
                    return _between(seen)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    raise SystemExit(f"{' '.join(trainer.command)} ended early: see {log}")


def _look(pid: int, rates: Sequence[str]) -> _Report:
    members = family(pid)
    return _Report(
        time.monotonic(),
        sum(map(_cpu_seconds, members)),
        sum(float(rate.replace(",", "")) for rate in rates),
        max(map(peak_memory, members)),
    )


def _between(reports: Sequence[_Report]) -> Throughput:
    pairs = zip(reports, reports[1:], strict=False)
    tokens = sum(after.tokens_per_second * (after.time - before.time) for before, after in pairs)
    first, last = reports[0], reports[-1]
    return Throughput(
        tokens / (last.time - first.time),
        1e6 * (last.cpu - first.cpu) / tokens,
        last.peak_memory,
    )


def _cpu_seconds(pid: int) -> float:
    """Returns the processor seconds of a process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND  # utime, stime
