"""Memory and processor time of preprocessing at any size, with duplicates dropped.

    python -m tests.benchmarks.scale --work_dir=/tmp/scale --pairs=4500000 --output=scale.json

The corpus is real English–French text, drawn with replacement, in which every draw gets other
numbers and names. It is written to `--work_dir`, 250 bytes a pair, and takes as much space again
three times while it is preprocessed. Memory is that of the driver and of the largest worker;
processor time is told apart by phase, so that it shows where a worker waits for the others.
"""

import argparse
import contextlib
import dataclasses
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.benchmarks import corpora
from tests.benchmarks.corpora import Pair
from tests.benchmarks.measure import family, peak_memory
from tests.benchmarks.record import output_flag, write_record

_SECONDS_BETWEEN_LOOKS = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")  # of /proc's processor time, per second
_PHASE = re.compile(r"^(\w+): (start|done)")
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")
_FILLED = "\0"  # where a name was


def main() -> None:
    """Measures and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--workers", type=int, default=2)
    output_flag(parser, "scale")
    arguments = parser.parse_args()
    work: Path = arguments.work_dir
    work.mkdir(parents=True, exist_ok=True)
    texts = corpora.write(
        vary(corpora.everything(), arguments.pairs), work / f"varied-{arguments.pairs}"
    )
    output = work / f"dataset-{arguments.pairs}"
    shutil.rmtree(output, ignore_errors=True)
    measured = measure(command(texts, output, arguments.workers))
    lines = 2 * arguments.pairs
    results = {**dataclasses.asdict(measured), "lines": lines}
    write_record("scale", arguments, results)
    print(f"{measured.wall:,.0f} s, {1e6 * measured.cpu / lines:.1f} µs of CPU per line")
    print(f"driver {measured.driver_memory:,.0f} MiB, worker {measured.worker_memory:,.0f} MiB")


def command(texts: Sequence[Path], output: Path, workers: int) -> list[str]:
    """Returns the command that preprocesses a corpus."""
    flags = {
        "source_files": texts[0],
        "target_files": texts[1],
        "target_language": "fr",
        "vocabulary_size": 37_000,
        "drop_duplicates": "true",
        "num_workers": workers,
        "output_dir": output,
    }
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    return [sys.executable, "-m", "pipeline.preprocess", *arguments]


def vary(pairs: Iterable[Pair], number: int) -> Iterator[Pair]:
    """Draws pairs with replacement, each with other numbers and names, alike on both sides.

    Names are capitalised words that stand on both sides; others of the corpus take their place. A
    fixed seed: every call gives the same corpus.
    """
    templates = [_to_template(source, target) for source, target in pairs]
    names = sorted({name for _, _, found in templates for name in found})
    chance = random.Random(1706_03762)
    for _ in range(number):
        source, target, found = chance.choice(templates)
        for _ in found:
            name = chance.choice(names)
            source, target = (side.replace(_FILLED, name, 1) for side in (source, target))
        digits = str(chance.randrange(10, 10**7))
        yield _NUMBER.sub(digits, source), _NUMBER.sub(digits, target)


def _to_template(source: str, target: str) -> tuple[str, str, list[str]]:
    """Returns a pair with places for names, and the names that were there."""
    names = [name for name in dict.fromkeys(_NAME.findall(source)) if name in target]
    for name in names:
        source, target = (side.replace(name, _FILLED, 1) for side in (source, target))
    return source, target, names


@dataclasses.dataclass
class Measured:
    """One run of the command.

    wall: seconds.
    cpu: seconds of all processes.
    driver_memory: peak resident MiB.
    worker_memory: peak resident MiB of the largest worker.
    phases: by verb, and "after VERB": seconds, and CPU seconds of the driver and of each worker.
    """

    wall: float = 0.0
    cpu: float = 0.0
    driver_memory: float = 0.0
    worker_memory: float = 0.0
    phases: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)


def measure(arguments: Sequence[str]) -> Measured:
    """Runs the command to its end; requires Linux's /proc.

    Raises:
        SystemExit: the command failed.
    """
    result, before, start = Measured(), os.times(), time.monotonic()
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    phase = ["start"]
    reader = threading.Thread(target=_follow, args=(process, phase), daemon=True)
    reader.start()
    sampler = _Sampler(process.pid)
    while process.poll() is None:
        sampler.look(result, phase[0])
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    reader.join()
    result.wall, after = time.monotonic() - start, os.times()
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    user = after.children_user - before.children_user
    result.cpu = user + after.children_system - before.children_system
    return result


def _follow(process: "subprocess.Popen[str]", phase: list[str]) -> None:
    """Shows what a command prints, and sets the first element to the phase that it is in."""
    assert process.stderr is not None
    for line in process.stderr:
        print(line, end="", file=sys.stderr, flush=True)
        match = _PHASE.match(line)
        if match:
            phase[0] = match[1] if match[2] == "start" else f"after {match[1]}"


class _Sampler:
    """Adds what the processes of a command have used since the last look to its phase."""

    def __init__(self, driver: int) -> None:
        self._driver = driver
        self._used: dict[int, float] = {}
        self._time = time.monotonic()

    def look(self, result: Measured, phase: str) -> None:
        """Updates memory and the phase's times."""
        times = result.phases.setdefault(phase, {})
        now = time.monotonic()
        times["seconds"] = times.get("seconds", 0.0) + now - self._time
        self._time = now
        workers = [pid for pid in family(self._driver)[1:] if _is_python(pid)]
        result.driver_memory = max(result.driver_memory, peak_memory(self._driver))
        result.worker_memory = max([result.worker_memory, *map(peak_memory, workers)])
        for name, pid in [("driver", self._driver), *_numbered(workers)]:
            used = _cpu_seconds(pid)
            times[name] = times.get(name, 0.0) + used - self._used.get(pid, 0.0)
            self._used[pid] = used


def _numbered(workers: Sequence[int]) -> list[tuple[str, int]]:
    return [(f"worker {number}", pid) for number, pid in enumerate(sorted(workers), 1)]


def _is_python(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"pipeline.stages.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _cpu_seconds(pid: int) -> float:
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    return 0.0


if __name__ == "__main__":
    main()
