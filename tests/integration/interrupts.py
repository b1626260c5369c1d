"""Interrupts preprocessing at many moments and counts how it ends: a search for rare races.

    python -m tests.integration.interrupts --attempts=100

Each attempt preprocesses the built-in corpus with two worker processes and sends SIGINT to the
process group, as Ctrl-C does: every second attempt 2 to 5 seconds after the start, the others 0 to
3 seconds after the first line of progress, which on a busy machine comes later. Expected of every
attempt: exit code 130 within 5 seconds, one line besides progress, no process left. Exit code 1 if
an attempt ended otherwise.
"""

import argparse
import collections
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.helpers.commands import REPOSITORY
from tests.integration.engines.services import running_with, wait_for
from tests.integration.test_preprocess_interrupted import INTERRUPTED, VERBS, handle_interrupts

CLEAN = "interrupted"
SPAN = 3.0  # seconds over which the moments are spread
AFTER_START = 2.0  # seconds to the first of them, when counted from the start
PATIENCE = 5.0  # seconds after the signal
BUSY = 600.0  # seconds in which work begins on the busiest machine


def main() -> int:
    """Makes all attempts, prints how many ended in which way, and the output of unclean ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--attempts", type=int, default=100)
    attempts = parser.parse_args().attempts
    endings = collections.Counter[str]()
    for number in range(attempts):
        with tempfile.TemporaryDirectory() as folder:
            endings[attempt(Path(folder), SPAN * number / attempts, at_work=number % 2 == 1)] += 1
    print(dict(endings))
    return int(set(endings) != {CLEAN})


def attempt(folder: Path, delay: float, at_work: bool) -> str:
    """Starts preprocessing, interrupts it, and names how it ended.

    Args:
        folder: empty; for its output.
        delay: seconds to wait in addition, either after the start or after the first progress.
        at_work: whether the progress counts.
    """
    error = folder / "stderr"
    flags = ["--num_workers=2", "--block_lines=1000", f"--output_dir={folder / 'out'}"]
    with error.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.preprocess", *flags],
            cwd=REPOSITORY,
            env={**os.environ, "MARK": str(folder)},
            stderr=file,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=handle_interrupts,
        )
    start = time.monotonic()
    if at_work:
        wait_for(lambda: error.read_text() or None, "progress", seconds=BUSY)
    time.sleep(delay if at_work else AFTER_START + delay)
    moment = time.monotonic() - start
    ending = interrupt(process, error, str(folder))
    lines = error.read_text().splitlines()
    stage = "at work" if any(line.startswith(VERBS) for line in lines) else "starting"
    print(f"{moment:.1f} s, {stage}: {ending}", flush=True)
    if ending != CLEAN:
        print(error.read_text(), flush=True)
    return ending


def interrupt(process: subprocess.Popen[bytes], error: Path, mark: str) -> str:
    """Sends SIGINT to the group of a process, waits for all of it to end, and names the ending."""
    if process.poll() is not None:
        return "finished before"
    os.killpg(process.pid, signal.SIGINT)
    try:
        code = process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "hung"
    if code != 128 + signal.SIGINT:
        return f"exit code {code}"
    end = time.monotonic() + PATIENCE
    while running_with(mark):
        if time.monotonic() > end:
            return "left a process"
        time.sleep(0.05)
    lines = [line for line in error.read_text().splitlines() if not line.startswith(VERBS)]
    return CLEAN if lines == INTERRUPTED else f"{len(lines)} lines"


if __name__ == "__main__":
    sys.exit(main())
