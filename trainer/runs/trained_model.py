"""Which trained weights a command loads: flags that all of them share."""

import dataclasses

from pipeline.common.settings import setting


@dataclasses.dataclass(frozen=True)
class TrainedModel:
    """Which checkpoint to load.

    Search flags default to the run's own values.
    """

    run_dir: str = setting("runs/base", "Run directory, made by trainer.task.")
    checkpoint: str = setting(
        "auto",
        "Weights to load: averaged, best (by dev BLEU), last, a step, or auto: averaged if it "
        "exists, else last.",
    )

    @property
    def run_dirs(self) -> tuple[str, ...]:
        """The directories of all runs, that of --run_dir first."""
        return (self.run_dir,)


@dataclasses.dataclass(frozen=True)
class TrainedModels(TrainedModel):
    """Which checkpoint to load, or several as an ensemble.

    Search flags default to the first run's own values.
    """

    ensemble: tuple[str, ...] = setting(
        (),
        "More run directories, of models with the same subwords, whose predictions are averaged "
        "with those of --run_dir; --checkpoint applies to each.",
    )

    @property
    def run_dirs(self) -> tuple[str, ...]:
        """The directories of all runs, that of --run_dir first."""
        return (self.run_dir, *self.ensemble)
