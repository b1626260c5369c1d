"""Ablation on Multi30k English–German: one change at a time, as in the paper's Table 3.

    python -m tests.benchmarks.ablation --work_dir=runs/ablation --output=ablation.json

Trains the Transformer-tiny of configs/multi30k.flags on as many tokens for every row, evaluates it
on dev and test, prints the table and writes JSON. When stopped, the same command resumes: runs from
their last checkpoint, without the rows in `--output`. `--at_once=2` trains two runs at a time,
each on its share of the cores.
"""

import argparse
import dataclasses
import itertools
import json
import os
import queue
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pipeline.common.tables import format_table
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.runs import evaluate, train
from tests.benchmarks.workload import preprocess

Flags = Mapping[str, object]

TOKENS = 2_048_000  # padded, on each side, that every run is trained on
CHECKPOINTS = 20  # of every run, of which the last 5 are averaged
BASE: Flags = {
    "tokens_per_batch": 2_048,
    "warmup_steps": 400,
    "learning_rate_scale": 0.68,
    "dropout": 0.1,
    "checkpoint_every_minutes": 0,
    "log_every_steps": 100,
    "eval_every_steps": 0,
}
DATA: Flags = {"vocabulary_size": 8_000}


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table: the flags that differ from those of the first row."""

    change: str
    training: Flags = dataclasses.field(default_factory=dict)
    data: Flags = dataclasses.field(default_factory=dict)
    evaluation: Flags = dataclasses.field(default_factory=dict)

    @property
    def run(self) -> str:
        """Name of the run to evaluate; rows may share it."""
        return _name({**self.data, **self.training}) or "base"

    @property
    def updates(self) -> int:
        """Updates until `TOKENS` are used up."""
        return TOKENS // int(str({**BASE, **self.training}["tokens_per_batch"]))

    def flags(self) -> dict[str, object]:
        """Returns the training flags of the run, without its directories."""
        every = self.updates // CHECKPOINTS
        return {**BASE, **self.training, "checkpoint_every_steps": every}

    @property
    def dataset(self) -> str:
        """Name of the dataset that the run is trained on."""
        return _name({**DATA, **self.data})


ROWS = (
    Row("base"),
    Row("seed 2", {"seed": 2}),
    Row("seed 3", {"seed": 3}),
    Row("4,000 subwords", data={"vocabulary_size": 4_000}),
    Row("BPE-dropout 0.1", data={"bpe_dropout": 0.1}),
    Row("normalisation before sublayers", {"norm": "pre"}),
    Row("dropout 0.3", {"dropout": 0.3}),
    Row(
        "dropout on attention and ReLU too",
        {"attention_dropout": 0.1, "relu_dropout": 0.1},
    ),
    Row("200 updates of warm-up", {"warmup_steps": 200}),
    Row(  # with the same learning rates after as many tokens
        "half the updates, twice the batch",
        {"tokens_per_batch": 4_096, "warmup_steps": 200, "learning_rate_scale": 0.48},
    ),
    Row("last checkpoint, not 5 averaged", evaluation={"checkpoint": "last"}),
    Row("greedy", evaluation={"beam_size": 1}),
    Row("α = 0", evaluation={"length_penalty": 0.0}),
    Row("α = 1", evaluation={"length_penalty": 1.0}),
)


def main() -> None:
    """Trains and evaluates what is missing, prints the table, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "ablation")
    parser.add_argument("--at_once", type=int, default=1)
    arguments = parser.parse_args()
    results = Results(arguments)
    missing = [row for row in ROWS if row not in results]
    runs = {row.run: [same for same in missing if same.run == row.run] for row in missing}

    for row in {row.dataset: row for row in missing}.values():
        preprocess(arguments.work_dir / "data" / row.dataset, {**DATA, **row.data})
    shares: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    cores = sorted(os.sched_getaffinity(0))
    for number in range(arguments.at_once):
        shares.put(cores[number :: arguments.at_once])

    def pin() -> None:  # a thread, and so all commands that it runs
        os.sched_setaffinity(0, shares.get())

    def measure(rows: list[Row]) -> None:
        train_row(rows[0], arguments.work_dir)
        for row in rows:
            run_dir = arguments.work_dir / "runs" / row.run
            results.add(row, evaluate(run_dir, "dev", "test", **row.evaluation))

    with ThreadPoolExecutor(arguments.at_once, initializer=pin) as pool:
        for _ in pool.map(measure, runs.values()):
            pass  # but raise what failed
    print(results.table())


class Results:
    """Scores of the rows, saved after every change."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._lock = threading.Lock()
        path: Path = arguments.output
        self._scores: dict[str, Any] = (
            json.loads(path.read_text())["results"] if path.exists() else {}
        )

    def __contains__(self, row: Row) -> bool:
        return self._scores.get(row.change, {}).get("flags") == _flags(row)

    def add(self, row: Row, scores: Mapping[str, Any]) -> None:
        """Adds the scores of a row and rewrites the file."""
        with self._lock:
            self._scores[row.change] = {"flags": _flags(row), **scores}
            write_record("ablation", self._arguments, self._scores)
            print(self.table(), flush=True)

    def table(self) -> str:
        """Returns the rows so far: BLEU on dev and test, and perplexity per subword on dev."""
        lines = [["", "BLEU, dev", "test", "perplexity, dev", "minutes"]]
        for row in ROWS:
            if row in self:
                dev, test = (self._scores[row.change][split] for split in ("dev", "test"))
                figures = (dev["sacrebleu"], test["sacrebleu"], dev["perplexity"])
                minutes = f"{dev['train_seconds'] / 60:.1f}"
                lines.append([row.change, *(f"{figure:.2f}" for figure in figures), minutes])
        return "\n".join(format_table(lines))


def train_row(row: Row, work_dir: Path) -> None:
    """Trains the run of a row, or resumes it."""
    places = {
        "dataset_dir": work_dir / "data" / row.dataset,
        "run_dir": work_dir / "runs" / row.run,
        "train_steps": row.updates,
    }
    train("configs/multi30k.flags", {**row.flags(), **places})


def _flags(row: Row) -> dict[str, Any]:
    """Returns every flag that the scores of a row depend on."""
    return {**DATA, **row.data, **row.flags(), **row.evaluation}


def _name(flags: Flags) -> str:
    return ",".join(itertools.starmap("{}={}".format, flags.items()))


if __name__ == "__main__":
    main()
