"""Time of the host between updates: `fit` with a model that computes no gradients.

    python -m tests.benchmarks.host_time --output=tests/benchmarks/results/host_time.json

Trains a model with the 181 variables of the base model, but tiny, on virtual CPU devices; its
gradients are constants. What remains of an update is what the host does for it however fast the
devices are: fetching batches, Python, dispatching operations. Prints the time of an update, and the
part of it that Python's main thread is busy.
"""

import argparse
import dataclasses
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from pipeline.common.tables import format_table
from tests.benchmarks.record import output_flag, write_record

REPLICAS = (1, 8)
INTERVAL = 50  # updates
WARM_UP_INTERVALS = 2  # of `INTERVALS`; the first contains tracing
INTERVALS = 8
ARCHITECTURE: dict[str, Any] = {"model_dim": 16, "feed_forward_dim": 16, "num_heads": 2}


def main() -> None:
    """Measures, prints a table, writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    output_flag(parser, "host_time")
    arguments = parser.parse_args()
    make_devices(max(REPLICAS))
    results, rows = [], [["replicas", "updates per call", "ms/update", "of Python, ms/update"]]
    for replicas in REPLICAS:
        for updates in updates_per_call():
            measured = measure(replicas, updates)
            results.append({"replicas": replicas, "updates_per_call": updates, **measured})
            medians = [f"{statistics.median(times):.2f}" for times in measured.values()]
            rows.append([str(replicas), str(updates), *medians])
    write_record("host_time", arguments, {"runs": results})
    print(*format_table(rows), sep="\n")


def make_devices(number: int) -> None:
    """Splits the processor into virtual devices."""
    os.environ |= {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * number,
    )


def updates_per_call() -> tuple[int, ...]:
    """Returns the numbers of updates per call to measure."""
    from trainer.config import TrainingConfig

    fields = {field.name for field in dataclasses.fields(TrainingConfig)}
    return (1, 10) if "steps_per_call" in fields else (1,)


def measure(replicas: int, updates_per_call: int) -> dict[str, list[float]]:
    """Returns milliseconds per update of several intervals: of all, and of Python's main thread."""
    import tensorflow as tf

    from model.config import SearchConfig, TransformerConfig
    from tests.helpers.datasets import builtin_splits, write_dataset
    from trainer.config import TrainingConfig
    from trainer.runs.run_directory import open_run
    from trainer.training import construction, loop

    strategy = tf.distribute.get_strategy()
    if replicas > 1:
        strategy = tf.distribute.MirroredStrategy(
            [f"CPU:{index}" for index in range(replicas)],
            cross_device_ops=tf.distribute.ReductionToOneDevice(),
        )
    with tempfile.TemporaryDirectory() as folder:
        dataset = write_dataset(Path(folder) / "data", builtin_splits())
        settings: dict[str, Any] = (
            {"steps_per_call": updates_per_call} if updates_per_call > 1 else {}
        )
        config = TrainingConfig(
            dataset_dir=str(dataset.directory),
            run_dir=f"{folder}/run",
            tokens_per_batch=1_024,
            train_steps=INTERVALS * INTERVAL,
            log_every_steps=INTERVAL,
            checkpoint_every_minutes=0,
            **settings,
        )
        run = open_run(TransformerConfig(**ARCHITECTURE), config, SearchConfig(), dataset)
        training_model = construction.prepare_training_model(run, strategy)
        _replace_gradients(training_model)
        buckets = loop.make_training_buckets(config, [dataset], strategy)
        with _Clock() as clock:
            loop._fit(run, training_model, dataset, buckets, None, None)  # type: ignore[arg-type]
    return clock.milliseconds_per_update()


def _replace_gradients(training_model: Any) -> None:
    import tensorflow as tf

    variables = training_model.transformer.trainable_variables
    assert len(variables) == 181, len(variables)

    def compute(*_: object) -> tuple[tf.Tensor, list[tf.Tensor]]:
        return tf.ones(2), [tf.fill(variable.shape, 1e-3) for variable in variables]

    training_model._gradients_of = compute


class _Clock:
    """Notes the time, and the main thread's processor time, whenever metrics are written."""

    def __enter__(self) -> "_Clock":
        from trainer.training import loop

        self._times: list[tuple[float, float]] = []
        self._writer: Any = vars(loop)["MetricsWriter"]
        self._write = self._writer.write

        def write(*arguments: Any) -> None:
            self._times.append((time.perf_counter(), time.thread_time()))
            self._write(*arguments)

        self._writer.write = write
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.write = self._write

    def milliseconds_per_update(self) -> dict[str, list[float]]:
        """Returns those of every interval after the warm-up."""
        times = self._times[WARM_UP_INTERVALS - 1 :]
        pairs = list(zip(times, times[1:], strict=False))
        return {
            name: [1e3 * (after[i] - before[i]) / INTERVAL for before, after in pairs]
            for i, name in enumerate(("milliseconds", "python_milliseconds"))
        }


if __name__ == "__main__":
    main()
