"""The same command on an engine, with a worker killed, and on DirectRunner: every byte compared.

The scripts beside this file start a cluster and call `main`:

    python -m tests.integration.engines.prism --work_dir=DIR -- --source_files=… --target_files=…

What follows `--` are flags of pipeline.preprocess that say what to read and how.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.helpers.commands import REPOSITORY
from tests.helpers.preprocessing import contents
from tests.integration.engines.services import children, wait_for

_SECONDS = 600.0  # until the first block is encoded, on a busy machine
_SECONDS_TO_NOTICE = 90.0  # in which a command that is alive writes a file
_MOST_COMMANDS = 2
_STAGE = "done/EncodePairs"  # the folder of the reports of the stage in which a worker is killed


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A running engine.

    flags: how `pipeline.preprocess` reaches it.
    pools: processes whose children are the Python workers.
    """

    flags: list[str]
    pools: list[int]


# Starts an engine whose files and logs are in a folder.
Start = Callable[[Path], contextlib.AbstractContextManager[Cluster]]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What came out.

    killed_after: reports of `_STAGE` that were finished when a worker was killed there.
    commands: how often the command ran until it succeeded.
    files: in the dataset directory.
    differences: names of the files that DirectRunner wrote otherwise, or not.
    """

    killed_after: int
    commands: int
    files: int
    differences: list[str]
    seconds: float


def compare(start: Start, flags: Sequence[str], folder: Path) -> Comparison:
    """Preprocesses on an engine, kills a worker meanwhile, and compares with DirectRunner.

    Where an engine does not restart the lost worker, the command ends or stands still. It is then
    given again, as the README says, on a new cluster and without a kill.
    """
    began = time.monotonic()
    output = folder / "engine"
    killed_after, succeeded, commands = -1, False, 0
    while not succeeded and commands < _MOST_COMMANDS:
        commands += 1
        place = folder / f"attempt-{commands}"
        place.mkdir(parents=True)
        with start(place) as cluster:
            process = _preprocess(output, [*flags, *cluster.flags], place / "command.log")
            if commands == 1:
                killed_after = _kill_worker(cluster, output, process)
            succeeded = _wait(process, output)
    direct = folder / "direct"
    assert _wait(_preprocess(direct, flags, folder / "direct.log"), direct)
    ours, theirs = contents(output), contents(direct)
    differences = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    seconds = round(time.monotonic() - began, 1)
    return Comparison(killed_after, commands, len(theirs), differences, seconds)


def main(start: Start) -> None:
    """Compares as the command line says, prints the result as JSON; exit code 1: bytes differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("flags", nargs="*", help="of pipeline.preprocess, after --")
    arguments = parser.parse_args()
    result = compare(start, arguments.flags, arguments.work_dir)
    print(json.dumps(dataclasses.asdict(result)))
    sys.exit(bool(result.differences))


def _preprocess(output: Path, flags: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "pipeline.preprocess", f"--output_dir={output}", *flags]
    with log.open("wb") as printed:
        printed.write(f"{' '.join(command)}\n".encode())
        printed.flush()
        return subprocess.Popen(command, cwd=REPOSITORY, stdout=printed, stderr=subprocess.STDOUT)


def _kill_worker(cluster: Cluster, output: Path, process: "subprocess.Popen[bytes]") -> int:
    """Kills the newest worker as soon as blocks are encoded; returns how many were by then."""

    def find() -> int | None:
        assert process.poll() is None, "the command ended before a worker was killed"
        return len(list(output.glob(f".staging/*/{_STAGE}/*.json"))) or None

    count = wait_for(find, f"the first block in {_STAGE}", seconds=_SECONDS)
    os.kill(children(cluster.pools)[-1], signal.SIGKILL)
    return count


def _wait(process: "subprocess.Popen[bytes]", output: Path) -> bool:
    """Returns whether a command succeeds; ends it if it writes nothing for some time."""
    count, since = -1, time.monotonic()
    while process.poll() is None and time.monotonic() - since < _SECONDS_TO_NOTICE:
        time.sleep(0.2)
        now = sum(len(files) for _, _, files in os.walk(output))
        if now != count:
            count, since = now, time.monotonic()
    process.terminate()
    return process.wait() == 0
