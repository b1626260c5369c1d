"""Preprocesses with Beam and is killed, at random moments: forks need a process of their own.

    python -m tests.helpers.killing FOLDER MOMENTS

prints, as JSON, one result for each moment. All directories are then finished, for comparison.
Moments are counted in operations on files, so they are as different on a slow machine.
"""

import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.dataset import schema
from tests.helpers.preprocessing import build, build_with_beam, configure

SEED = 3
OPERATIONS = ("open", "os.mkdir", "os.remove", "os.rename", "os.rmdir")  # audit events of Python
LONGEST_DELAY = 0.005  # seconds after an operation; a write may be half done


def main(folder: Path, moments: int) -> None:
    """Makes FOLDER/whole undisturbed, then FOLDER/killed-N, each killed once and finished."""
    operations = count_operations(configure(folder, "whole", block_lines=50))
    chance = random.Random(SEED)
    results = []
    for moment in range(moments):
        config = configure(folder, f"killed-{moment}", block_lines=50)
        last = int((moment + chance.random()) / moments * operations)
        killed = kill(config, last, chance.uniform(0, LONGEST_DELAY))
        results.append({"killed": killed, **examine(config.output_dir)})
        build(config)
    print(json.dumps(results))


def count_operations(config: PreprocessConfig) -> int:
    """Runs to the end and returns how many operations on files of its directory that took."""
    count, counted = os.pipe()
    run(config, lambda: os.write(counted, b"."))
    os.close(counted)
    with open(count, "rb") as pipe:
        return len(pipe.read())


def kill(config: PreprocessConfig, operation: int, delay: float) -> bool:
    """Kills a run some seconds after an operation; returns whether it was still at work."""
    left = operation

    def after_operation() -> None:
        nonlocal left
        left -= 1
        if left == -1:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()

    return os.WIFSIGNALED(run(config, after_operation))


def examine(directory: str) -> dict[str, Any]:
    """Returns what a killed run left."""
    files = [path for path in Path(directory).rglob("*") if path.is_file()]
    return {"directory": directory, "files": len(files), "accepted": is_accepted(directory)}


def run(config: PreprocessConfig, on_operation: Callable[[], Any]) -> int:
    """Preprocesses in a forked process and returns how that ended, a status of `os.waitpid`."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1]

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in OPERATIONS and str(arguments[0]).startswith(config.output_dir):
            on_operation()

    status = 1
    try:
        sys.addaudithook(hear)
        build_with_beam(config)
        status = 0
    finally:
        os._exit(status)


def is_accepted(directory: str) -> bool:
    """Returns whether a reader takes the directory for a dataset."""
    try:
        schema.load_dataset(directory)
    except UserError:
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
