"""Writes an interactive page with the attention weights of every layer and head.

    python -m trainer.attention --run_dir=runs/demo --text="The old dog sleeps in the garden."

The page opens in any browser, without a network.
"""

from model.config import AlignmentConfig, SearchConfig
from pipeline.common import cli
from trainer.pages.driver import AttentionConfig, write_attention_page
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModel


def main(_: list[str]) -> None:
    """Reads the flags, writes the page, and prints its path."""
    model = cli.config_from_flags(TrainedModel)
    config = cli.config_from_flags(AttentionConfig)
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)
    alignment = cli.config_from_flags(AlignmentConfig)
    print(f"written: {write_attention_page(run, model, search, config, alignment=alignment)}")


if __name__ == "__main__":
    for config in (TrainedModel, AttentionConfig, SearchConfig, AlignmentConfig):
        cli.define_flags(config)
    cli.run(main)
