"""The training model of a run, as its configuration describes it."""

import keras
import tensorflow as tf

from trainer.inference.translator import make_transformer
from trainer.runs.run_directory import Run
from trainer.runtime.startup import choose_parts_at_once
from trainer.training.gradients import LossGradients
from trainer.training.loss import smoothing_mass
from trainer.training.optimizer import Adam
from trainer.training.train_step import TrainingModel


def prepare_training_model(run: Run, strategy: tf.distribute.Strategy) -> TrainingModel:
    """Sets the seed and the precision, and creates the model on all replicas."""
    keras.utils.set_random_seed(run.training.seed)
    if run.training.mixed_precision != "none":
        keras.config.set_dtype_policy(f"mixed_{run.training.mixed_precision}")
    with strategy.scope():
        return make_training_model(run)


def make_training_model(run: Run, *, parts_at_once: int | None = None) -> TrainingModel:
    """Creates the model and its optimizer (§5.3) with fresh weights, under the current strategy.

    Args:
        run: the run's configuration.
        parts_at_once: parts of a batch that one processor computes in parallel; by default as many
            as suit its cores. GPUs and replicas compute their batches as a whole.
    """
    config = run.training
    if parts_at_once is None:
        parts_at_once = choose_parts_at_once(config)
    on_gpus = bool(tf.config.list_logical_devices("GPU"))
    if on_gpus or tf.distribute.get_strategy().num_replicas_in_sync > 1:
        parts_at_once = 1
    xla = on_gpus if config.jit_compile is None else config.jit_compile
    transformer = make_transformer(run)
    gradients = LossGradients(
        transformer,
        label_smoothing=smoothing_mass(
            config.label_smoothing,
            over=config.label_smoothing_over,
            vocabulary_size=transformer.vocabulary_size,
        ),
        gradient_accumulation=config.gradient_accumulation,
        parts_at_once=parts_at_once,
        freeze=config.freeze,
    )
    training_model = TrainingModel(
        transformer,
        gradients,
        figures_kept=config.log_every_steps,
        gradient_reduction=config.gradient_reduction,
        xla=xla,
    )
    optimizer = Adam(config, masked=xla)
    optimizer.build(gradients.variables)
    # TrainingModel itself compiles the step and scales the loss.
    training_model.compile(optimizer=optimizer, jit_compile=False, auto_scale_loss=False)
    return training_model
