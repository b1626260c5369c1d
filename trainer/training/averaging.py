"""The weights that a run may end with: means of checkpoints, or of all updates (§6.1)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trainer.runs.checkpoint_files import Arrays, Checkpoint
from trainer.runs.checkpoints import list_best, list_checkpoints, mean_weights
from trainer.runs.run_directory import Run
from trainer.training.train_step import TrainingModel


class Candidate(NamedTuple):
    """Weights, by a value of `--average`; `sources` are the steps of averaged checkpoints."""

    name: str
    weights: Arrays
    sources: tuple[int, ...]


def make_candidates(run: Run, training_model: TrainingModel) -> Iterator[Candidate]:
    """Yields the weights that `--average` asks for; for auto, all that there can be.

    They are made one at a time, to need no more memory than two.

    Args:
        run: a run with a checkpoint.
        training_model: at the state of the newest one, for the moving average.

    Raises:
        UserError: if checkpoints belong to different configurations.
    """
    config = run.training
    saved, best = list_checkpoints(run.directory), list_best(run.directory)
    # A run stopped before its first regular checkpoint, then given fewer steps, has only the other.
    regular = [one for one in saved if not one.interim] or saved
    wanted = ("last", "best", "ema", "none") if config.average == "auto" else (config.average,)
    if "best" in wanted and best:
        yield _average("best", best[: config.average_checkpoints])
    elif config.average == "best":
        wanted = ("last",)  # it ended before its first evaluation
    if "last" in wanted:
        yield _average("last", regular[-config.average_checkpoints :])
    if "ema" in wanted and config.ema_decay:
        variables = training_model.transformer.trainable_variables
        yield Candidate("ema", training_model.optimizer.averaged_weights(variables), ())
    if "none" in wanted:
        yield _average("none", saved[-1:])


def _average(name: str, checkpoints: Sequence[Checkpoint]) -> Candidate:
    steps = sorted(checkpoint.step for checkpoint in checkpoints)
    return Candidate(name, mean_weights(checkpoints), tuple(steps))
