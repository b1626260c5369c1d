"""Checkpoint averaging: candidates for the final weights of a run (§6.1)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trainer.runs.checkpoint_files import Arrays, Checkpoint
from trainer.runs.checkpoints import list_best, list_checkpoints, mean_weights
from trainer.runs.run_directory import Run
from trainer.training.train_step import TrainingModel


class Candidate(NamedTuple):
    """Weights that a run may keep.

    name: the value of `--average` that chooses them.
    weights: by variable.
    sources: steps of the checkpoints that were averaged, if any.
    """

    name: str
    weights: Arrays
    sources: tuple[int, ...]


def make_candidates(run: Run, training_model: TrainingModel) -> Iterator[Candidate]:
    """Yields the weights that `--average` asks for; for auto, all that exist.

    One at a time, so that no more than two are in memory.

    Args:
        run: a run with at least one checkpoint.
        training_model: restored from the newest checkpoint; its optimizer has the moving average.

    Raises:
        UserError: if checkpoints belong to different configurations.
    """
    config = run.training
    saved, best = list_checkpoints(run.directory), list_best(run.directory)
    # A run stopped before its first regular checkpoint and then finished has an interim one only.
    regular = [checkpoint for checkpoint in saved if not checkpoint.interim] or saved
    wanted = ("last", "best", "ema", "none") if config.average == "auto" else (config.average,)
    if "best" in wanted and best:
        yield _average("best", best[: config.average_checkpoints])
    elif config.average == "best":
        wanted = ("last",)  # the run ended before its first evaluation
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
