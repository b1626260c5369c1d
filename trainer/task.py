"""Trains a Transformer on a dataset directory, and goes on where it was stopped.

    python -m pipeline.preprocess --runner=DirectRunner --output_dir=data/demo
    python -m trainer.task --flagfile=configs/demo.flags

Trains on all visible GPUs, or on the CPU; with TF_CONFIG, on several machines that run the same
command. `--dry_run` tells beforehand whether it fits into memory and how long it takes. The run
directory then holds checkpoints, TensorBoard files, metrics.jsonl, the average of the last
checkpoints, and its scores on dev. The same command again continues an interrupted run exactly,
and does nothing to a finished one.
"""

from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.common import cli
from pipeline.dataset.schema import load_dataset
from trainer.config import TrainingConfig
from trainer.runtime.startup import start_tensorflow


def main(_: list[str]) -> int:
    """Reads the flags, trains, and returns the exit code."""
    training = cli.config_from_flags(TrainingConfig)
    transformer = cli.config_from_flags(TransformerConfig)
    search = cli.config_from_flags(SearchConfig)
    dataset = load_dataset(training.dataset_dir)

    # Starting TensorFlow takes seconds: mistakes in flags and data are reported before.
    start_tensorflow(for_training=training)
    from trainer.runtime.damage import damage_explained
    from trainer.runtime.error_messages import failures_explained
    from trainer.training.dry_run import estimate_training
    from trainer.training.loop import train

    with damage_explained(dataset), failures_explained(training):
        if training.dry_run:
            print(estimate_training(transformer, training, search, dataset))
            return 0
        finished = train(transformer, training, search, dataset)
    if not finished:
        logging.info("run the same command again to go on")
    return 0


if __name__ == "__main__":
    for config in (TrainingConfig, TransformerConfig, SearchConfig):
        cli.define_flags(config)
    cli.run(main, if_interrupted="running the same command again continues the work")
