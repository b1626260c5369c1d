"""Profile of a training step: time by kind of operation, from TensorFlow's profiler.

    python -m tests.benchmarks.step_profile --work_dir=/tmp/benchmark --size=tiny

Trains on one thread, so that no operation waits for another, and prints the milliseconds of each
kind of operation per step. Makes the data of `tests.benchmarks.training` if it is absent.
"""

import argparse
import collections
import dataclasses
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from pipeline.common.tables import format_table
from pipeline.dataset.schema import load_dataset
from tests.benchmarks.record import output_flag, write_record
from tests.benchmarks.workload import (
    DROPOUT,
    LABEL_SMOOTHING,
    SIZES,
    TOKENS_PER_BATCH,
    Size,
    prepare,
)
from trainer.runtime.startup import start_tensorflow

WARM_UP_STEPS = 5
STEPS = 10
SHOWN = 16  # kinds of operations, the others are summed


def main() -> None:
    """Profiles and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--mixed_precision", choices=("none", "bfloat16"), default="none")
    output_flag(parser, "step_profile")
    arguments = parser.parse_args()
    os.environ["TF_NUM_INTEROP_THREADS"] = os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
    start_tensorflow()
    dataset_dir = prepare(arguments.work_dir).dataset
    with tempfile.TemporaryDirectory() as folder:
        profile_steps(dataset_dir, SIZES[arguments.size], arguments.mixed_precision, Path(folder))
        (trace,) = Path(folder).rglob("*.xplane.pb")
        times = sum_times(read_operations(trace))
    write_record("step_profile", arguments, {"milliseconds": times})
    total = sum(times.values())
    kinds = list(times.items())
    kinds = [*kinds[:SHOWN], ("all others", sum(time for _, time in kinds[SHOWN:]))]
    rows = [["operation", "ms", "share"]]
    rows += [[kind, f"{time:.1f}", f"{time / total:.1%}"] for kind, time in kinds]
    print(*format_table([*rows, ["a step", f"{total:.1f}", ""]]), sep="\n")


def profile_steps(dataset_dir: Path, size: Size, precision: str, folder: Path) -> None:
    """Trains a few steps and writes their profiler trace."""
    import keras
    import tensorflow as tf

    from model.config import SearchConfig, TransformerConfig
    from trainer.config import TrainingConfig
    from trainer.data.input_pipeline import distribute, training_batches
    from trainer.runs.run_directory import open_run
    from trainer.training.construction import make_training_model
    from trainer.training.loop import make_training_buckets

    if precision != "none":
        keras.config.set_dtype_policy(f"mixed_{precision}")
    training = TrainingConfig(
        dataset_dir=str(dataset_dir),
        run_dir=str(folder / "run"),
        tokens_per_batch=TOKENS_PER_BATCH,
        label_smoothing=LABEL_SMOOTHING,
    )
    dataset = load_dataset(dataset_dir)
    config = TransformerConfig(dropout=DROPOUT, **size.architecture())
    training_model = make_training_model(open_run(config, training, SearchConfig(), dataset))
    strategy = tf.distribute.get_strategy()
    buckets = make_training_buckets(training, [dataset], strategy)
    batches = iter(cast(Any, distribute(training_batches(buckets, seed=1), strategy)))
    for _ in range(WARM_UP_STEPS):
        training_model.train_on_next(batches)
    tf.profiler.experimental.start(str(folder))
    for _ in range(STEPS):
        training_model.train_on_next(batches)
    tf.profiler.experimental.stop()


@dataclasses.dataclass
class Operation:
    """An operation on one thread; times in picoseconds."""

    kind: str
    start: int
    duration: int
    inner: int = 0  # of `duration`, spent in other operations


def read_operations(trace: Path) -> Iterator[Operation]:
    """Yields the operations on the threads of TensorFlow's executor."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space: Any = xplane_pb2.XSpace.FromString(trace.read_bytes())
    for plane in space.planes:
        for line in plane.lines:
            if line.name.startswith("tf_Compute"):
                names = (plane.event_metadata[event.metadata_id].name for event in line.events)
                operations = [
                    Operation(name.rpartition(":")[2], event.offset_ps, event.duration_ps)
                    for name, event in zip(names, line.events, strict=True)
                ]
                yield from _nest(sorted(operations, key=lambda op: (op.start, -op.duration)))


def sum_times(operations: Iterable[Operation]) -> dict[str, float]:
    """Returns milliseconds per step by kind of operation, inner ones excluded, largest first."""
    times: dict[str, float] = collections.defaultdict(float)
    for operation in operations:
        times[operation.kind] += (operation.duration - operation.inner) / 1e9 / STEPS
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def _nest(operations: list[Operation]) -> list[Operation]:
    """Sums, in each operation, the time of the operations within it; expects them by start."""
    running: list[Operation] = []
    for operation in operations:
        while running and running[-1].start + running[-1].duration <= operation.start:
            running.pop()
        if running:
            running[-1].inner += operation.duration
        running.append(operation)
    return operations


if __name__ == "__main__":
    main()
