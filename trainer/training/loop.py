"""A training run from its first update, or the one it was stopped at, to its scores on dev (§5)."""

import keras
import tensorflow as tf
from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.dataset.schema import Dataset
from trainer.config import TrainingConfig
from trainer.data.input_pipeline import (
    Bucket,
    distribute,
    make_buckets,
    steps_per_epoch,
    training_batches,
)
from trainer.inference.translator import Translator, make_transformer, make_translator
from trainer.runs.checkpoint_files import Checkpoint
from trainer.runs.checkpoints import delete_unfinished, restore_latest
from trainer.runs.metrics_log import MetricsWriter, read_metric
from trainer.runs.run_directory import Run, alone_in, open_run
from trainer.runtime.startup import parts_at_once
from trainer.runtime.strategy import any_worker, is_chief, make_strategy, require_same_step
from trainer.training.callbacks import Checkpointing, Telemetry
from trainer.training.dev_evaluation import DevEvaluation, evaluate_dev, gains_no_more, show_samples
from trainer.training.finalize import finish, finished_steps
from trainer.training.flops import measure_peak, training_flops
from trainer.training.learning_rate import LearningRateSchedule
from trainer.training.loss import wrong_probability
from trainer.training.optimizer import Adam
from trainer.training.stopping import InputWatchdog, StopOnNonFinite, StopOnSignal, StopTogether
from trainer.training.train_step import Learner


def train(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    dataset: Dataset,
) -> bool:
    """Trains, averages checkpoints, and scores the average on dev.

    With several workers all call it; the chief alone writes.

    Returns:
        whether the run is finished; False when a signal stopped it, with all saved.

    Raises:
        UserError: if the run directory holds another run, or the loss is not finite.
    """
    strategy = make_strategy()
    buckets = make_training_buckets(training, dataset, strategy)
    if not is_chief(strategy):
        run = open_run(transformer, training, search, dataset, write=False)
        return _train(run, strategy, buckets, dataset)
    with alone_in(training.run_dir):
        run = open_run(transformer, training, search, dataset)
        delete_unfinished(run.directory)
        return _train(run, strategy, buckets, dataset)


def _train(
    run: Run, strategy: tf.distribute.Strategy, buckets: list[Bucket], dataset: Dataset
) -> bool:
    training = run.training
    if steps := finished_steps(run):
        logging.info("%s is finished: %d steps", run.directory, steps)
        return True
    learner = prepare_learner(run, strategy)
    checkpoint = restore_latest(run.directory, learner)
    first_step = checkpoint.step if checkpoint else 0
    require_same_step(strategy, first_step)
    learner.separate_dropout()
    _describe(run, buckets, learner, first_step)
    translator = make_translator(run, learner.transformer)
    past_bleu = read_metric(run.directory, "dev/bleu", last_step=first_step)
    ended = first_step >= training.train_steps or gains_no_more(past_bleu, training)
    if not any_worker(strategy, ended) and not _fit(
        run, learner, dataset, buckets, translator, checkpoint
    ):
        return False
    if is_chief(strategy):
        finish(run, learner, translator, dataset)
    any_worker(strategy, False)  # so that none exits, which would disturb the chief, before it
    return True


def make_training_buckets(
    training: TrainingConfig, dataset: Dataset, strategy: tf.distribute.Strategy
) -> list[Bucket]:
    """Lists the buckets to train on, whose batches fall into equal parts on all replicas."""
    tokens_per_batch = training.tokens_per_batch
    make_buckets(dataset, "dev", tokens_per_batch=tokens_per_batch, parts=1)  # fails early
    parts = strategy.num_replicas_in_sync * training.gradient_accumulation
    return make_buckets(dataset, "train", tokens_per_batch=tokens_per_batch, parts=parts)


def prepare_learner(run: Run, strategy: tf.distribute.Strategy) -> Learner:
    """Sets the seed and the precision, and makes the model on all replicas."""
    keras.utils.set_random_seed(run.training.seed)
    if run.training.mixed_precision != "none":
        keras.config.set_dtype_policy(f"mixed_{run.training.mixed_precision}")
    with strategy.scope():
        return make_learner(run)


def make_learner(run: Run) -> Learner:
    """Makes the model and its optimizer (§5.3) with fresh weights, under the current strategy."""
    config = run.training
    transformer = make_transformer(run)
    learner = Learner(
        transformer,
        label_smoothing=wrong_probability(
            config.label_smoothing,
            over=config.label_smoothing_over,
            vocabulary_size=transformer.vocabulary_size,
        ),
        gradient_accumulation=config.gradient_accumulation,
        parts_at_once=parts_at_once(config) if _on_one_processor() else 1,
        compile_gradients=config.jit_compile,
    )
    optimizer = Adam(config)
    optimizer.build(learner.transformer.trainable_variables)
    # The Learner compiles what can be compiled, and scales the loss.
    learner.compile(optimizer=optimizer, jit_compile=False, auto_scale_loss=False)
    return learner


def _on_one_processor() -> bool:
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    return replicas == 1 and not tf.config.list_logical_devices("GPU")


def _fit(
    run: Run,
    learner: Learner,
    dataset: Dataset,
    buckets: list[Bucket],
    translator: Translator,
    checkpoint: Checkpoint | None,
) -> bool:
    """Trains up to `train_steps`; returns False if a signal came first."""
    config, strategy = run.training, learner.distribute_strategy
    first_step = checkpoint.step if checkpoint else 0
    stop = StopOnSignal()
    callbacks: list[keras.callbacks.Callback] = [
        LearningRateSchedule(
            model_dim=run.transformer.model_dim,
            warmup_steps=config.warmup_steps,
            scale=config.learning_rate_scale,
        ),
        StopOnNonFinite(config),
        InputWatchdog(),
    ]
    if is_chief(strategy):
        callbacks += _make_recorders(run, learner, dataset, translator, checkpoint)
    batches = training_batches(buckets, seed=config.seed, first_step=first_step)
    learner.fit(
        distribute(batches, strategy),
        steps_per_epoch=config.train_steps - first_step,
        callbacks=[*callbacks, stop, StopTogether(strategy)],
        shuffle=False,
        verbose=0,
    )
    logging.info("programs traced or compiled: %d, for %d buckets", learner.programs, len(buckets))
    if stop.received:
        logging.info("stopped by %s with a checkpoint saved", stop.received.name)
    return not any_worker(strategy, stop.received is not None)


def _make_recorders(
    run: Run,
    learner: Learner,
    dataset: Dataset,
    translator: Translator,
    checkpoint: Checkpoint | None,
) -> list[keras.callbacks.Callback]:
    """Makes the callbacks that write to the run directory."""
    config = run.training
    first_step = checkpoint.step if checkpoint else 0
    writer = MetricsWriter(run.directory, first_step)
    model = learner.transformer
    replicas = learner.distribute_strategy.num_replicas_in_sync
    return [
        Telemetry(
            writer,
            train_steps=config.train_steps,
            every_steps=config.log_every_steps,
            count_flops=lambda shape: training_flops(model.config, model.vocabulary_size, shape),
            peak_flops=replicas * measure_peak(model.compute_dtype),
        ),
        DevEvaluation(
            lambda: evaluate_dev(run, translator, dataset, sentences=config.eval_sentences),
            lambda step: show_samples(run, translator, dataset, writer, step),
            writer,
            run.directory,
            config,
            past_bleu=read_metric(run.directory, "dev/bleu"),
        ),
        Checkpointing(
            run.directory, config, seconds_before=checkpoint.train_seconds if checkpoint else 0.0
        ),
    ]


def _describe(run: Run, buckets: list[Bucket], learner: Learner, first_step: int) -> None:
    logging.info(
        "%s: %.1f M parameters, %d %s, %d buckets, %.1f steps an epoch, steps %d to %d",
        run.directory,
        learner.transformer.count_params() / 1e6,
        learner.distribute_strategy.num_replicas_in_sync,
        "GPU(s)" if tf.config.list_logical_devices("GPU") else "CPU",
        len(buckets),
        steps_per_epoch(buckets),
        first_step,
        run.training.train_steps,
    )
