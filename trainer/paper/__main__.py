"""Writes one page about the paper: each section's code, tests and departures, figures, ten bugs.

    python -m trainer.paper --run_dir=runs/demo

With a run, figures 3 to 5 show what its heads attend to in the paper's sentences. The page opens in
any browser, without a network.
"""

from pipeline.common import cli
from trainer.paper.driver import PaperConfig, write_paper


def main(_: list[str]) -> None:
    """Reads the flags, writes the page, and prints its path."""
    print(f"written: {write_paper(cli.config_from_flags(PaperConfig))}")


if __name__ == "__main__":
    cli.define_flags(PaperConfig)
    cli.run(main)
