"""A training run, from its first or its resumed update to its scores on dev (§5)."""

import signal
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf
from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.dataset.schema import Dataset
from trainer.config import TrainingConfig
from trainer.data.buckets import Bucket, make_buckets, mix_buckets, steps_per_epoch
from trainer.data.input_pipeline import batch_buckets, distribute, training_batches
from trainer.data.mixture import format_mixture
from trainer.inference.translator import Translator, make_translator
from trainer.runs.checkpoint_files import Checkpoint
from trainer.runs.checkpoints import delete_unfinished, restore_latest
from trainer.runs.metrics_log import read_dev_scores
from trainer.runs.metrics_writer import MetricsWriter
from trainer.runs.run_directory import Run, lock_run_directory, open_run
from trainer.runtime.strategy import any_worker, is_chief, make_strategy, require_same_step
from trainer.training.call_plan import plan_calls
from trainer.training.callbacks import MetricsLogging
from trainer.training.checkpointing import Checkpointing
from trainer.training.completion import is_finished, should_stop_early
from trainer.training.construction import prepare_training_model
from trainer.training.dev_evaluation import DevEvaluation, evaluate_dev, show_samples
from trainer.training.finalize import finish
from trainer.training.flops import measure_peak, update_flops
from trainer.training.initialization import start_from_origin
from trainer.training.learning_rate import LearningRateSchedule
from trainer.training.share_logging import ShareLogging
from trainer.training.stopping import (
    InputWatchdog,
    StopOnNonFinite,
    StopOnSignal,
    StopTogether,
    agree_on_signal,
)
from trainer.training.train_step import TrainingModel


def train(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    *datasets: Dataset,
) -> signal.Signals | None:
    """Trains, averages checkpoints, and scores the average on dev.

    Every worker calls it; only the chief writes to the run directory.

    Args:
        transformer: the architecture.
        training: how to train, and in which run directory.
        search: how to translate dev.
        datasets: those to train on, mixed if several; dev is that of the first.

    Returns:
        None if the run is finished; otherwise the signal that stopped it, after saving a
        checkpoint: the same on all workers.

    Raises:
        UserError: if the run directory holds another run, or the loss is not finite.
    """
    strategy = make_strategy()
    buckets = make_training_buckets(training, datasets, strategy)
    if len(datasets) > 1:
        logging.info("%s", format_mixture(datasets, training))
    if not is_chief(strategy):
        run = open_run(transformer, training, search, *datasets, write=False)
        return _train(run, strategy, buckets, datasets[0])
    with lock_run_directory(training.run_dir):
        run = open_run(transformer, training, search, *datasets)
        delete_unfinished(run.directory)
        return _train(run, strategy, buckets, datasets[0])


def _train(
    run: Run, strategy: tf.distribute.Strategy, buckets: list[Bucket], dataset: Dataset
) -> signal.Signals | None:
    """Trains on `buckets`; dev is that of `dataset`."""
    training = run.training
    if is_finished(run):
        return None
    training_model = prepare_training_model(run, strategy)
    checkpoint = restore_latest(run.directory, training_model)
    if run.origin and not checkpoint:
        logging.info("weights: %s", start_from_origin(run, training_model, dataset))
    first_step = checkpoint.step if checkpoint else 0
    require_same_step(strategy, first_step)
    training_model.offset_dropout_seeds()
    _log_start(run, buckets, training_model, first_step)
    translator = make_translator(run, training_model.transformer)
    past_scores = read_dev_scores(run.directory, last_step=first_step)
    ended = first_step >= training.train_steps or should_stop_early(past_scores, training)
    if not any_worker(strategy, ended):
        stopped_by = _fit(run, training_model, dataset, buckets, translator, checkpoint)
        if stopped_by:
            return stopped_by
    if is_chief(strategy):
        finish(run, training_model, translator, dataset)
    any_worker(strategy, False)  # waits for the chief: a worker that exits would disturb it
    return None


def make_training_buckets(
    training: TrainingConfig, datasets: Sequence[Dataset], strategy: tf.distribute.Strategy
) -> list[Bucket]:
    """Lists the buckets to train on; batches divide into equal parts on all replicas."""
    tokens = training.tokens_per_batch
    make_buckets(datasets[0], "dev", tokens_per_batch=tokens, parts=1)  # checks dev early
    parts = strategy.num_replicas_in_sync * training.gradient_accumulation
    return mix_buckets(datasets, training, parts=parts)


def _fit(
    run: Run,
    training_model: TrainingModel,
    dataset: Dataset,
    buckets: list[Bucket],
    translator: Translator,
    checkpoint: Checkpoint | None,
) -> signal.Signals | None:
    """Trains up to `train_steps` updates; returns the signal that stopped it before, if any."""
    config, strategy = run.training, training_model.distribute_strategy
    first_step = checkpoint.step if checkpoint else 0
    bucket_of = batch_buckets(buckets, seed=config.seed)
    stop = StopOnSignal()
    saving = Checkpointing(
        run.directory, config, seconds_before=checkpoint.train_seconds if checkpoint else 0.0
    )
    callbacks: list[keras.callbacks.Callback] = [
        StopOnNonFinite(config, lambda step: bucket_of(step).batch_shape),
        LearningRateSchedule(
            model_dim=run.transformer.model_dim,
            warmup_steps=config.warmup_steps,
            scale=config.learning_rate_scale,
        ),
        InputWatchdog(),
    ]
    if is_chief(strategy):
        recorders = _make_recorders(
            run, training_model, dataset, translator, first_step=first_step, bucket_of=bucket_of
        )
        callbacks += [*recorders, saving]
    batches = training_batches(buckets, seed=config.seed, first_step=first_step)
    calls = list(plan_calls(first_step, config))
    training_model.calls = iter(calls)
    with saving:
        training_model.fit(
            distribute(batches, strategy),
            steps_per_epoch=len(calls),
            callbacks=[*callbacks, stop, StopTogether(strategy)],
            shuffle=False,
            verbose=0,
        )
    stopped_by = agree_on_signal(strategy, stop.received)
    if stopped_by:
        logging.info("stopped by %s with a checkpoint saved", stopped_by.name)
    return stopped_by


def _make_recorders(
    run: Run,
    training_model: TrainingModel,
    dataset: Dataset,
    translator: Translator,
    *,
    first_step: int,
    bucket_of: Callable[[int], Bucket],
) -> list[keras.callbacks.Callback]:
    """Creates the callbacks that write metrics and evaluate on dev."""
    config = run.training
    writer = MetricsWriter(run.directory, first_step)
    model = training_model.transformer
    replicas = training_model.distribute_strategy.num_replicas_in_sync
    shares = ShareLogging(writer, config, lambda step: bucket_of(step).dataset)
    return [
        MetricsLogging(
            writer,
            config,
            lambda step: bucket_of(step).batch_shape,
            count_flops=lambda shape: update_flops(model.config, model.vocabulary_size, shape),
            peak_flops=replicas * measure_peak(model.compute_dtype),
        ),
        DevEvaluation(
            lambda: evaluate_dev(translator, dataset, sentences=config.eval_sentences),
            lambda step: show_samples(run, translator, dataset, writer, step),
            writer,
            run.directory,
            config,
            past_scores=read_dev_scores(run.directory),
        ),
        *([shares] if len(config.dataset_dirs) > 1 else []),
    ]


def _log_start(
    run: Run, buckets: list[Bucket], training_model: TrainingModel, first_step: int
) -> None:
    logging.info(
        "%s: %.1f M parameters, %d %s, %d buckets, %.1f steps an epoch, steps %d to %d",
        run.directory,
        training_model.transformer.count_params() / 1e6,
        training_model.distribute_strategy.num_replicas_in_sync,
        "GPU(s)" if tf.config.list_logical_devices("GPU") else "CPU",
        len(buckets),
        steps_per_epoch(buckets),
        first_step,
        run.training.train_steps,
    )
