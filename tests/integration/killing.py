"""Preprocesses and is killed, at random moments: a process of its own, from which forks are safe.

    python -m tests.integration.killing FOLDER MOMENTS

prints, as JSON, one result for each moment. All directories are then finished, for comparison.
"""

import json
import os
import random
import shutil
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
    results: list[dict[str, Any]] = []
    while len(results) < moments:
        moment = chance.uniform(0, seconds)
        config = configure(folder, f"killed-{len(results)}", block_lines=50)
        if kill(config, moment):
            results.append(examine(config.output_dir))
            run(config)
        else:  # it had ended: the machine is quicker now than at first
            seconds = moment
            shutil.rmtree(config.output_dir)
    print(json.dumps(results))


def kill(config: PreprocessConfig, seconds: float) -> bool:
    """Kills a run after some seconds; returns whether it was still at work."""
    process = start(config)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status)


def examine(directory: str) -> dict[str, Any]:
    """Returns what a killed run left."""
    files = [path for path in Path(directory).rglob("*") if path.is_file()]
    return {"directory": directory, "files": len(files), "accepted": is_accepted(directory)}


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
