"""Trains a Transformer on a dataset directory, and resumes an interrupted run.

    python -m pipeline.preprocess --runner=DirectRunner --output_dir=data/demo
    python -m trainer.task --flagfile=configs/demo.flags

Trains on all visible GPUs, or on the CPU; with TF_CONFIG, on several machines that run the same
command. `--dry_run` estimates memory and time beforehand. The run directory receives checkpoints,
TensorBoard files, metrics.jsonl, the averaged weights, and their scores on dev, which are also
printed. The same command continues an interrupted run exactly, and leaves a finished run
unchanged.
"""

from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.common import cli
from pipeline.dataset.schema import load_dataset
from trainer.config import TrainingConfig
from trainer.runtime.startup import start_tensorflow


def main(_: list[str]) -> None:
    """Reads the flags, trains, and prints the result."""
    training = cli.config_from_flags(TrainingConfig)
    transformer = cli.config_from_flags(TransformerConfig)
    search = cli.config_from_flags(SearchConfig)
    dataset = load_dataset(training.dataset_dir)

    # Imported only now: mistakes in flags and data are reported without waiting for TensorFlow.
    start_tensorflow(for_training=training)
    from trainer.runtime.error_messages import explain_dataset_errors, explain_training_errors
    from trainer.training.dry_run import estimate_training
    from trainer.training.finalize import format_result
    from trainer.training.loop import train

    with explain_dataset_errors(dataset), explain_training_errors(training):
        if training.dry_run:
            print(estimate_training(transformer, training, search, dataset))
        elif train(transformer, training, search, dataset):
            print(format_result(training.run_dir))
        else:
            logging.info("run the same command again to go on")


if __name__ == "__main__":
    for config in (TrainingConfig, TransformerConfig, SearchConfig):
        cli.define_flags(config)
    cli.run(main, if_interrupted="running the same command again continues the work")
