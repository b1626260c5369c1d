"""A training run from its first update, or the one it was stopped at, to its scores on dev (§5)."""

import json

import keras
import tensorflow as tf
from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.schema import Dataset, write_atomically
from trainer.callbacks import Checkpointing, DevEvaluation, StopOnSignal, Telemetry
from trainer.checkpoints import (
    Checkpoint,
    average_checkpoints,
    list_checkpoints,
    load_weights,
    restore_latest,
)
from trainer.config import TrainingConfig
from trainer.evaluation import evaluate_bleu, evaluate_loss
from trainer.input import Bucket, distribute, make_buckets, steps_per_epoch, training_batches
from trainer.learner import Learner
from trainer.objective import wrong_probability
from trainer.run_directory import Run, open_run
from trainer.schedule import LearningRateSchedule
from trainer.telemetry import MetricsWriter, duration
from trainer.translator import Translator, make_transformer, make_translator


def train(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    dataset: Dataset,
) -> bool:
    """Trains, averages the last checkpoints, and scores the average on dev.

    Returns:
        whether the run is finished; False when a signal stopped it, with all saved.

    Raises:
        UserError: if the run directory holds another run, or the loss is not finite.
    """
    strategy = make_strategy()
    replicas = strategy.num_replicas_in_sync
    tokens_per_batch = training.tokens_per_batch
    buckets = make_buckets(dataset, "train", tokens_per_batch=tokens_per_batch, replicas=replicas)
    make_buckets(dataset, "dev", tokens_per_batch=tokens_per_batch, replicas=1)  # fails early
    run = open_run(transformer, training, search, dataset)
    if _is_finished(run):
        logging.info("%s is finished: %d steps", run.directory, training.train_steps)
        return True
    keras.utils.set_random_seed(training.seed)
    if training.mixed_precision != "none":
        keras.config.set_dtype_policy(f"mixed_{training.mixed_precision}")
    with strategy.scope():
        learner = make_learner(run)
    checkpoint = restore_latest(run.directory, learner)
    first_step = checkpoint.step if checkpoint else 0
    _describe(run, buckets, strategy, learner, first_step)
    if first_step < training.train_steps and not _fit(
        run, learner, dataset, buckets, strategy, checkpoint
    ):
        return False
    _finish(run, learner, dataset)
    return True


def make_strategy() -> tf.distribute.Strategy:
    """Returns MirroredStrategy over all visible GPUs when there are several, else one device."""
    gpus = tf.config.list_logical_devices("GPU")
    return tf.distribute.MirroredStrategy() if len(gpus) > 1 else tf.distribute.get_strategy()


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
        compile_gradients=config.jit_compile,
    )
    optimizer = keras.optimizers.Adam(
        beta_1=config.adam_beta_1,
        beta_2=config.adam_beta_2,
        epsilon=config.adam_epsilon,
        name="adam",
    )
    optimizer.build(learner.transformer.trainable_variables)
    learner.compile(optimizer=optimizer, jit_compile=False)  # the Learner compiles what can be
    return learner


def _fit(
    run: Run,
    learner: Learner,
    dataset: Dataset,
    buckets: list[Bucket],
    strategy: tf.distribute.Strategy,
    checkpoint: Checkpoint | None,
) -> bool:
    """Trains up to `train_steps`; returns False if a signal came first."""
    config = run.training
    first_step = checkpoint.step if checkpoint else 0
    writer = MetricsWriter(run.directory, first_step)
    translator = make_translator(run, learner.transformer)
    stop = StopOnSignal()
    callbacks = [
        LearningRateSchedule(
            model_dim=run.transformer.model_dim,
            warmup_steps=config.warmup_steps,
            scale=config.learning_rate_scale,
        ),
        Telemetry(writer, train_steps=config.train_steps, every_steps=config.log_every_steps),
        Checkpointing(
            run.directory, config, seconds_before=checkpoint.train_seconds if checkpoint else 0.0
        ),
        DevEvaluation(
            lambda: evaluate_dev(run, translator, dataset, sentences=config.eval_sentences),
            writer,
            every_steps=config.eval_every_steps,
        ),
        stop,
    ]
    batches = training_batches(buckets, seed=config.seed, first_step=first_step)
    learner.fit(
        distribute(batches, strategy),
        steps_per_epoch=config.train_steps - first_step,
        callbacks=callbacks,
        shuffle=False,
        verbose=0,
    )
    writer.close()
    if stop.received:
        logging.info("stopped by %s with a checkpoint saved", stop.received.name)
    return not stop.received


def evaluate_dev(
    run: Run, translator: Translator, dataset: Dataset, *, sentences: int = 0
) -> dict[str, float]:
    """Returns `nll` (nats per target token), `perplexity` and `bleu` (sacreBLEU) on dev."""
    losses = evaluate_loss(
        translator.transformer, dataset, "dev", tokens_per_batch=run.training.tokens_per_batch
    )
    scores, _ = evaluate_bleu(translator, dataset, "dev", sentences=sentences)
    return {**losses, "bleu": scores.sacrebleu}


def _finish(run: Run, learner: Learner, dataset: Dataset) -> None:
    """Averages the last checkpoints and scores the average on dev (§6.1)."""
    checkpoints = list_checkpoints(run.directory)
    regular = [one for one in checkpoints if not one.interim]
    # A run stopped before its first regular checkpoint, then given fewer steps, has only the other.
    last = (regular or checkpoints)[-run.training.average_checkpoints :]
    averaged = average_checkpoints(run.directory, last)
    load_weights(averaged, learner.transformer)
    values = evaluate_dev(run, make_translator(run, learner.transformer), dataset)
    result = {
        "steps": averaged.step,
        "averaged_steps": list(averaged.sources),
        "train_seconds": round(averaged.train_seconds, 1),
        **{f"dev_{name}": value for name, value in values.items()},
    }
    write_atomically(
        str(run.directory / "train.json"), (json.dumps(result, indent=1) + "\n").encode()
    )
    logging.info(
        "average of %d checkpoints on dev: perplexity %.3f, BLEU %.2f; trained for %s",
        len(last),
        values["perplexity"],
        values["bleu"],
        duration(averaged.train_seconds),
    )
    logging.info("next: python -m trainer.evaluate --run_dir=%s", run.directory)


def _is_finished(run: Run) -> bool:
    path = run.directory / "train.json"
    return (
        path.exists() and json.loads(path.read_text("utf-8"))["steps"] >= run.training.train_steps
    )


def _describe(
    run: Run,
    buckets: list[Bucket],
    strategy: tf.distribute.Strategy,
    learner: Learner,
    first_step: int,
) -> None:
    logging.info(
        "%s: %.1f M parameters, %d %s, %d buckets, %.1f steps an epoch, steps %d to %d",
        run.directory,
        learner.transformer.count_params() / 1e6,
        strategy.num_replicas_in_sync,
        "GPU(s)" if tf.config.list_logical_devices("GPU") else "CPU",
        len(buckets),
        steps_per_epoch(buckets),
        first_step,
        run.training.train_steps,
    )
