"""Prints Table 2 of the paper, with our results beside it.

    python -m trainer.table2

BLEU on newstest2014 and floating-point operations of training. Our rows come from the files in
configs/results, so run it in the folder that contains configs/. A dash marks what was not reported,
or not yet run. The paper's BLEU is tokenised: 0.7 to 1.5 above sacreBLEU.
"""

import dataclasses

from pipeline.common import cli
from pipeline.common.settings import setting
from trainer.paper.system_table import format_systems, read_our_rows


@dataclasses.dataclass(frozen=True)
class TableConfig:
    """Where our results are."""

    results_dir: str = setting("configs/results", "Folder of our results, one file per experiment.")


def main(_: list[str]) -> None:
    """Reads the flags and our results, and prints the table."""
    config = cli.config_from_flags(TableConfig)
    print(format_systems(read_our_rows(config.results_dir)))


if __name__ == "__main__":
    cli.define_flags(TableConfig)
    cli.run(main)
