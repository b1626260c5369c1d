"""Training and evaluating runs by the commands, for benchmarks of quality."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.workload import as_flags


def train(flagfile: str, flags: Mapping[str, object]) -> None:
    """Trains a run by `trainer.task`, or resumes it."""
    run_command("trainer.task", {"flagfile": flagfile, **flags})


def evaluate(run_dir: Path, *splits: str, **flags: object) -> dict[str, Any]:
    """Returns the scores of a run on each split, as `trainer.evaluate` writes them."""
    run_command(
        "trainer.evaluate",
        {"run_dir": run_dir, "split": ",".join(splits), "resamples": 0, **flags},
    )
    return {
        split: json.loads((run_dir / f"evaluation-{split}.json").read_text()) for split in splits
    }


def run_command(module: str, flags: Mapping[str, object]) -> None:
    """Runs a command; if it fails, prints its output and exits with its code."""
    command = [sys.executable, "-m", module, *as_flags(flags)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(command)} failed:\n{done.stderr}", file=sys.stderr, flush=True)
        raise SystemExit(done.returncode)
