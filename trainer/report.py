"""Writes one page about a run: scores, curves, translations, attention, configuration, data.

    python -m trainer.report --run_dir=runs/demo

The page opens in any browser, without a network.
"""

from model.config import SearchConfig
from pipeline.common import cli
from trainer.pages.driver import ReportConfig, write_report
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModel


def main(_: list[str]) -> None:
    """Reads the flags, writes the page, and prints its path."""
    model = cli.config_from_flags(TrainedModel)
    config = cli.config_from_flags(ReportConfig)
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)
    print(f"written: {write_report(run, model, search, config)}")


if __name__ == "__main__":
    for config in (TrainedModel, ReportConfig, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
