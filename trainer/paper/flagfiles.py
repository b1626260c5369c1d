"""Reading the flagfiles of `configs/` into configurations, without running them."""

from typing import NamedTuple

from absl import flags

from model.config import SearchConfig, TransformerConfig
from pipeline.common import cli
from trainer.config import TrainingConfig


class Experiment(NamedTuple):
    """The configurations that `trainer.task` reads from a flagfile."""

    transformer: TransformerConfig
    training: TrainingConfig
    search: SearchConfig


def read_flagfiles(*paths: str) -> Experiment:
    """Reads flagfiles in order, as `trainer.task` would; later flags win.

    Included flagfiles are relative to the working directory.

    Raises:
        UserError: if a file cannot be opened, or a flag is unknown or out of range.
    """
    values = flags.FlagValues()
    flags.DEFINE_multi_string("flagfile", [], "Files of flags.", flag_values=values)
    for config_class in Experiment.__annotations__.values():
        cli.define_flags(config_class, values)
    cli.parse(["trainer.task", *(f"--flagfile={path}" for path in paths)], values)
    return Experiment(
        cli.config_from_flags(TransformerConfig, values),
        cli.config_from_flags(TrainingConfig, values),
        cli.config_from_flags(SearchConfig, values),
    )
