"""The dry run: whether training fits into memory, and how long it would take."""

import math
import resource
import time

import tensorflow as tf

from model.config import SearchConfig, TransformerConfig
from pipeline.common.progress import format_duration
from pipeline.common.tables import format_table
from pipeline.dataset.schema import Dataset
from trainer.config import TrainingConfig
from trainer.data.buckets import Bucket, steps_per_epoch
from trainer.data.input_pipeline import distribute, training_batches
from trainer.runs.run_directory import add_origin, configure_run, has_begun
from trainer.runtime.strategy import make_strategy
from trainer.training.construction import prepare_training_model
from trainer.training.initialization import start_from_origin
from trainer.training.loop import make_training_buckets
from trainer.training.memory import Memory, estimate_memory
from trainer.training.train_step import TrainingModel


def estimate_training(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    *datasets: Dataset,
) -> str:
    """Makes two updates on the widest bucket, of which the first compiles, and writes nothing.

    Returns:
        One line each for: number of parameters; the run that they come from, if any; shape of the
        batch; peak memory, GiB; memory of a device by formula; source and target tokens per second;
        and the time that `train_steps` updates would take.
    """
    strategy = make_strategy()
    buckets = make_training_buckets(training, datasets, strategy)
    run = add_origin(configure_run(transformer, training, search, *datasets))
    training_model = prepare_training_model(run, strategy)
    starts = run.origin and not has_begun(run.directory)
    weights = {"weights": start_from_origin(run, training_model, datasets[0])} if starts else {}
    widest = max(buckets, key=lambda bucket: max(bucket.shape))
    tokens, seconds = _measure_update(training_model, widest, training)
    epochs = training.train_steps / steps_per_epoch(buckets)
    replicas, (source, target) = strategy.num_replicas_in_sync, widest.shape
    parameters, trained = _count_parameters(training_model)
    memory = estimate_memory(
        transformer,
        training,
        (widest.batch_size, source, target),
        parameters=parameters,
        trained=trained,
        vocabulary_size=training_model.transformer.vocabulary_size,
        replicas=replicas,
    )
    frozen = f", {parameters - trained:,} of them frozen" if training.freeze else ""
    rows = {
        "parameters": f"{parameters:,}{frozen}",
        **weights,
        "batch": f"{widest.batch_size} rows of {source} × {target} tokens on {replicas} "
        f"replica(s) in {training.gradient_accumulation} part(s); the widest of {len(buckets)} "
        "buckets",
        "memory": f"{_peak_memory() / 2**30:.2f} GiB at most",
        "by formula": f"{_format_memory(memory)}, with --jit_compile",
        "speed": f"{tokens / seconds:,.0f} tokens/s, {seconds:.2f} s an update",
        "training": f"{training.train_steps:,} updates, {epochs:.1f} epochs: about "
        f"{format_duration(training.train_steps * seconds)}, without evaluation",
    }
    return "\n".join(format_table(list(rows.items()), text_columns=2))


def _measure_update(
    training_model: TrainingModel, bucket: Bucket, training: TrainingConfig
) -> tuple[float, float]:
    """Returns real tokens and seconds of a bucket's second update; the first one compiles."""
    batches = training_batches([bucket], seed=training.seed)
    iterator = iter(distribute(batches, training_model.distribute_strategy))  # type: ignore[call-overload]
    for _ in range(2):
        began = time.monotonic()
        training_model.train_on_next(iterator)
        (figures,) = training_model.read_figures()
        seconds = time.monotonic() - began
    return figures.source_tokens + figures.target_tokens, seconds


def _count_parameters(training_model: TrainingModel) -> tuple[int, int]:
    """Returns the number of weights, and of those that are trained."""
    trained = (math.prod(weight.shape) for weight in training_model.gradients.variables)
    return training_model.transformer.count_params(), sum(trained)


def _format_memory(memory: Memory) -> str:
    parts = (f"{name} {size / 2**30:.2f}" for name, size in memory._asdict().items())
    return f"{memory.total / 2**30:.2f} GiB a device: {', '.join(parts)}"


def _peak_memory() -> int:
    """Returns the peak memory of a GPU in bytes, or without GPUs that of the process."""
    gpus = tf.config.list_logical_devices("GPU")
    if not gpus:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # KiB on Linux
    names = [gpu.name.partition("device:")[2] for gpu in gpus]
    return max(tf.config.experimental.get_memory_info(name)["peak"] for name in names)
