"""What each optimisation gives: the same command with and without it, in alternation.

    python -m tests.benchmarks.optimisations --work_dir=/tmp/benchmark --output=optimisations.json

Switches by environment, by flag, or by tests.benchmarks.switched. Changes that were rejected are
measured too: there "with" is what the code does not do by default. About two hours on a quiet
machine; `--changes` and `--sizes` select, and a change that `--output` has is not measured again.
"""

import argparse
import dataclasses
import functools
import json
import os
import shutil
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.common.tables import format_table
from tests.benchmarks.measure import alternate
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.throughput import Trainer, follow
from tests.benchmarks.trainers import our_trainer
from tests.benchmarks.workload import SIZES, THREADS, Workload, as_flags, prepare, some_of

REPORTS = {"training": 4, "search": 12}  # of which the first is left out
UNITS = {"training": "tokens/s", "search": "sentences/s"}
BEAM_SIZES = (1, 4)


@dataclasses.dataclass(frozen=True)
class Change:
    """A change of the code, and how to undo it (if it is kept) or to make it (if not).

    switch: function of tests.benchmarks.switched.
    environment, flags: of the command.
    """

    kept: bool
    workload: str
    switch: str = ""
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    flags: tuple[str, ...] = ()


CHANGES = {
    "oneDNN on every processor, training": Change(
        True, "training", environment={"TF_ENABLE_ONEDNN_OPTS": "0"}
    ),
    "parts of a batch side by side": Change(True, "training", "whole_batches"),
    "one product for queries, keys, values": Change(True, "training", "separate_projections"),
    "16 random bits for dropout": Change(True, "training", "keras_dropout"),
    "padded weights for search": Change(True, "search", "unpadded_weights"),
    "attention of a beam row by row": Change(True, "search", "joined_rows"),
    "pages of 2 MiB": Change(
        False, "training", environment={"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    ),
    "XLA on the CPU": Change(False, "training", flags=("--jit_compile",)),
    "oneDNN on every processor, search": Change(
        False, "search", environment={"TF_ENABLE_ONEDNN_OPTS": "1"}
    ),
}


def main() -> None:
    """Measures what is missing, prints tables, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "optimisations")
    parser.add_argument("--changes", type=some_of(CHANGES), default=list(CHANGES))
    parser.add_argument("--sizes", type=some_of(SIZES), default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    output: Path = arguments.output
    results: dict[str, Any] = json.loads(output.read_text())["results"] if output.exists() else {}
    workload = prepare(arguments.work_dir)
    for name in arguments.changes:
        if name not in results:
            results[name] = measure(name, workload, arguments.sizes, arguments.rounds)
            write_record("optimisations", arguments, results)


def measure(name: str, workload: Workload, sizes: list[str], rounds: int) -> dict[str, Any]:
    """Returns the speeds of every round with and without a change, by workload."""
    change = CHANGES[name]
    folder = workload.dataset.parent / "optimisations"
    workloads = {}
    for label, trainer in commands(change.workload, workload, sizes, folder).items():
        changed = switched(trainer, change)
        arms = {"with": trainer, "without": changed}
        if not change.kept:
            arms = {"with": changed, "without": trainer}
        reports = REPORTS[change.workload]
        runs = {arm: functools.partial(run, arms[arm], reports, folder) for arm in arms}
        speeds = alternate(runs, rounds)
        workloads[label] = {"unit": UNITS[change.workload], **speeds}
        rows = [[arm, f"{statistics.median(speeds[arm]):,.1f}"] for arm in speeds]
        print(
            *format_table([[f"{name}: {label}", UNITS[change.workload]], *rows]),
            sep="\n",
            flush=True,
        )
    return {"kept": change.kept, "workloads": workloads}


def commands(kind: str, workload: Workload, sizes: list[str], folder: Path) -> dict[str, Trainer]:
    """Returns the commands that a change is measured by."""
    if kind == "training":
        return {
            f"training, {size}": our_trainer("none", workload, SIZES[size], folder / "run")
            for size in sizes
        }
    return {
        f"search, {size}, beam {beam_size}": search_command(workload, size, beam_size)
        for size in sizes
        for beam_size in BEAM_SIZES
    }


def search_command(workload: Workload, size: str, beam_size: int) -> Trainer:
    """Returns the command that translates and reports its speed."""
    flags = {"work_dir": workload.dataset.parent, "size": size, "beam_size": beam_size}
    command = [sys.executable, "-m", "tests.benchmarks.search_speed", *as_flags(flags)]
    return Trainer(command, report=r"([\d.]+) sentences/s")


def switched(trainer: Trainer, change: Change) -> Trainer:
    """Returns a command with a change made or undone."""
    python, option, *module_and_flags = trainer.command
    runner = ["tests.benchmarks.switched", change.switch] if change.switch else []
    command = [python, option, *runner, *module_and_flags, *change.flags]
    return dataclasses.replace(trainer, command=command, environment=change.environment)


def run(trainer: Trainer, reports: int, folder: Path) -> float:
    """Returns the speed of one process."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return follow(trainer, reports, folder.parent / "optimisations.log").tokens_per_second


if __name__ == "__main__":
    main()
