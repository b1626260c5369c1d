"""Preprocesses and is killed, at random moments: a process of its own, from which forks are safe.

    python -m tests.integration.killing FOLDER MOMENTS

prints, as JSON, one result for each moment. All directories are then finished, for comparison.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pipeline import schema
from pipeline.config import PreprocessConfig
from pipeline.errors import UserError
from tests.integration.preprocessing import build, configure

SEED = 3


def main(folder: Path, moments: int) -> None:
    """Makes FOLDER/whole undisturbed, then FOLDER/killed-N, each killed once and finished."""
    seconds = run(configure(folder, "whole", block_lines=50))
    chance = random.Random(SEED)
    results = [
        kill(configure(folder, f"killed-{number}", block_lines=50), chance.uniform(0, seconds))
        for number in range(moments)
    ]
    print(json.dumps(results))


def kill(config: PreprocessConfig, seconds: float) -> dict[str, Any]:
    """Kills a run after some seconds, notes what it left, and finishes it."""
    process = start(config)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    found: list[str] = [str(path) for path in Path(config.output_dir).rglob("*") if path.is_file()]
    result = {
        "directory": config.output_dir,
        "killed": os.WIFSIGNALED(status),
        "files": len(found),
        "accepted": is_accepted(config.output_dir),
    }
    run(config)
    return result


def run(config: PreprocessConfig) -> float:
    """Runs to the end and returns the seconds it took."""
    begin = time.monotonic()
    _, status = os.waitpid(start(config), 0)
    if status:
        raise RuntimeError(f"{config.output_dir} could not be finished: status {status}")
    return time.monotonic() - begin


def start(config: PreprocessConfig) -> int:
    """Preprocesses in a forked process and returns its id."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        build(config)
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
