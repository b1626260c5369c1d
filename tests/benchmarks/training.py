"""Training speed beside other systems on the same architecture and data.

    python -m tests.benchmarks.training --work_dir=/tmp/benchmark --output=training.json

Every contender trains Multi30k English–German by its own command, in alternation on the same two
cores, until it has reported its speed a few times; the updates up to the first report are excluded.
Prints real source and target tokens per second, the speed of the input pipeline alone, and the
share of the machine's matrix products. The first use creates the environments of other systems in
`--work_dir` (Python 3.11; 7 GB), which may be deleted afterwards. Measure on a quiet machine: other
work slows down those systems most whose threads wait for one another.
"""

import argparse
import dataclasses
import functools
import itertools
import math
import os
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from model.config import TransformerConfig
from pipeline.common.tables import format_table
from pipeline.dataset.schema import load_dataset
from tests.benchmarks.measure import alternate
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.throughput import Throughput, follow
from tests.benchmarks.trainers import OURS, RIVALS, make_trainer
from tests.benchmarks.workload import (
    SIZES,
    THREADS,
    TOKENS_PER_BATCH,
    Size,
    Workload,
    prepare,
    some_of,
)
from trainer.runtime.startup import start_tensorflow

REPORTS = 4  # of a contender in a round, the first left out
INPUT_BATCHES = 2_000
PEAKS = 10  # measurements, of which the best counts: other work may disturb some


@dataclasses.dataclass(frozen=True)
class Machine:
    """Upper limits of training speed on this machine.

    input_tokens_per_second: real tokens from the input pipeline alone.
    float32_peak, bfloat16_peak: operations per second of large matrix products.
    """

    input_tokens_per_second: float
    float32_peak: float
    bfloat16_peak: float


def main() -> None:
    """Measures, prints tables, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    output_flag(parser, "training")
    parser.add_argument("--sizes", type=some_of(SIZES), default=list(SIZES))
    parser.add_argument("--rivals", type=some_of(RIVALS), default=list(RIVALS))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    work: Path = arguments.work_dir
    workload = prepare(work)
    machine = measure_machine(workload.dataset)
    sizes: dict[str, object] = {}
    for size in arguments.sizes:
        contenders = {
            name: functools.partial(run, name, workload, SIZES[size], work / "training" / size)
            for name in [*OURS, *arguments.rivals]
        }
        runs = alternate(contenders, arguments.rounds)
        operations = operations_per_token(SIZES[size], workload.dataset)
        figures = {name: medians(rounds) for name, rounds in runs.items()}
        show(size, figures, arguments.rivals, machine, operations)
        sizes[size] = {
            "operations_per_token": operations,
            "rounds": {name: list(map(dataclasses.asdict, runs[name])) for name in runs},
        }
        results = {"limits": dataclasses.asdict(machine), "sizes": sizes}
        write_record("training", arguments, results)


def run(name: str, workload: Workload, size: Size, folder: Path) -> Throughput:
    """Trains in an empty folder until the last report."""
    place = folder / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return follow(make_trainer(name, workload, size, place), REPORTS, folder / f"{name}.log")


def medians(runs: Sequence[Throughput]) -> Throughput:
    """Returns the median of each figure."""
    return Throughput(*map(statistics.median, zip(*map(dataclasses.astuple, runs), strict=True)))


def show(
    title: str,
    runs: Mapping[str, Throughput],
    rival_names: Sequence[str],
    machine: Machine,
    operations: float,
) -> None:
    """Prints a table: `ratio` to the fastest rival, `peak` as a share of the matrix products'."""
    fastest = max((runs[name].tokens_per_second for name in rival_names), default=math.nan)
    rows = [["", "tokens/s", "ratio", "peak", "CPU µs/token", "largest process, MiB"]]
    for name, run in runs.items():
        peak = machine.bfloat16_peak if "bfloat16" in name else machine.float32_peak
        ratio, share = run.tokens_per_second / fastest, run.tokens_per_second * operations / peak
        rows.append([name, f"{run.tokens_per_second:,.0f}", f"{ratio:.2f}", f"{share:.0%}"])
        rows[-1] += [f"{run.cpu:.1f}", f"{run.peak_memory:,.0f}"]
    print(f"\n{title}, medians", *format_table(rows), sep="\n", flush=True)


def measure_machine(dataset_dir: Path) -> Machine:
    """Measures and prints the limits of training speed."""
    start_tensorflow()
    from trainer.data.buckets import make_buckets
    from trainer.data.input_pipeline import training_batches
    from trainer.training.flops import measure_peak

    buckets = make_buckets(
        load_dataset(dataset_dir), "train", tokens_per_batch=TOKENS_PER_BATCH, parts=1
    )
    batches = iter(training_batches(buckets, seed=1))
    next(batches)  # starts the threads that read
    start = time.monotonic()
    counts = [
        np.count_nonzero(ids)
        for batch in itertools.islice(batches, INPUT_BATCHES)
        for ids in batch.values()
    ]
    speed = float(sum(counts)) / (time.monotonic() - start)
    float32, bfloat16 = (
        max(measure_peak(dtype) for _ in range(PEAKS)) for dtype in ("float32", "bfloat16")
    )
    print(f"input pipeline alone: {speed:,.0f} tokens/s")
    print(f"matrix products: {float32 / 1e9:,.0f} GFLOP/s, in bfloat16 {bfloat16 / 1e9:,.0f}")
    return Machine(speed, float32, bfloat16)


def operations_per_token(size: Size, dataset_dir: Path) -> float:
    """Returns the training operations per real token, for pairs of mean length."""
    from trainer.training.flops import update_flops

    dataset = load_dataset(dataset_dir)
    shards = dataset.splits["train"].shards
    pairs = sum(shard.pairs for shard in shards)
    source = round(sum(shard.source_tokens for shard in shards) / pairs)
    target = round(sum(shard.target_tokens for shard in shards) / pairs)
    config = TransformerConfig(**size.architecture())
    vocabulary = dataset.vocabularies["target"].size
    return update_flops(config, vocabulary, (1, source, target)) / (source + target)


if __name__ == "__main__":
    main()
