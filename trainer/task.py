"""Trains a Transformer on a dataset directory, and resumes an interrupted run.

    python -m pipeline.preprocess --runner=DirectRunner --output_dir=data/demo
    python -m trainer.task --flagfile=configs/demo.flags

Trains on all visible GPUs, or on the CPU; with TF_CONFIG, on several machines that run the same
command. `--dry_run` estimates memory and time beforehand. The run directory receives checkpoints,
TensorBoard files, metrics.jsonl, the averaged weights, and their scores on dev, which are also
printed. The same command continues an interrupted run exactly, and leaves a finished run
unchanged.

SIGINT (Ctrl-C) and SIGTERM save a checkpoint after the current update and end the command with
exit code 130 or 143, on all workers alike, so `trainer.task … && trainer.evaluate …` does not
evaluate an unfinished run. Other exit codes: 0 for a finished run, 2 for a mistake.
"""

from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.common import cli
from pipeline.common.errors import TO_CONTINUE
from trainer.config import TrainingConfig
from trainer.data.mixture import load_datasets
from trainer.runs.inherited_settings import read_model_flags
from trainer.runtime.startup import start_tensorflow
from trainer.training.completion import format_result, open_if_finished

_KILLED = 128  # plus the number of a signal: the exit code of a command that it ended


def main(_: list[str]) -> int:
    """Reads the flags, trains, prints the result, and returns the exit code."""
    training = cli.config_from_flags(TrainingConfig)
    transformer, search = read_model_flags(training)
    datasets = load_datasets(training.dataset_dirs)
    if open_if_finished(transformer, training, search, *datasets):
        print(format_result(training.run_dir))
        return 0

    # Imported only now: mistakes in flags and data are reported without waiting for TensorFlow.
    start_tensorflow(for_training=training)
    from trainer.runtime.error_messages import explain_dataset_errors, explain_training_errors
    from trainer.training.dry_run import estimate_training
    from trainer.training.loop import train

    with explain_dataset_errors(*datasets), explain_training_errors(training):
        if training.dry_run:
            print(estimate_training(transformer, training, search, *datasets))
            return 0
        if stopped_by := train(transformer, training, search, *datasets):
            logging.info("unfinished: run the same command again to go on")
            return _KILLED + stopped_by
        print(format_result(training.run_dir))
        return 0


if __name__ == "__main__":
    for config in (TrainingConfig, TransformerConfig, SearchConfig):
        cli.define_flags(config)
    cli.run(main, to_continue=TO_CONTINUE)
