"""Checkpoint averaging: candidates for the final weights of a run (§6.1)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from absl import logging

from trainer.config import TrainingConfig
from trainer.runs.checkpoint_files import Arrays, Checkpoint, list_best, list_checkpoints
from trainer.runs.checkpoints import mean_weights, take_weights
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
        averages = training_model.optimizer.averaged_weights(training_model.gradients.variables)
        yield Candidate("ema", take_weights(training_model.transformer) | averages, ())
    if "none" in wanted:
        yield _average("none", saved[-1:])


def planned_steps(config: TrainingConfig) -> list[int]:
    """Returns the steps of the checkpoints that a whole run averages.

    Empty if they depend on time or on scores.
    """
    every = config.checkpoint_every_steps
    if not every or config.average not in ("last", "auto"):
        return []
    return [*range(every, config.train_steps, every), config.train_steps][
        -config.average_checkpoints :
    ]


def warn_of_average(config: TrainingConfig, steps: Sequence[int], *, last_step: int) -> None:
    """Warns, with the remedy, if an average is of too few checkpoints or of old ones.

    Old is before the last fifth of training. The paper's averages span 7 % (base) and 4 % (big).

    Args:
        config: how many checkpoints to average.
        steps: of the last checkpoints, which are averaged.
        last_step: where training ends.
    """
    count, start = config.average_checkpoints, last_step - last_step // 5
    usable = sum(step >= start for step in steps)
    if usable == count:
        return
    logging.warning(
        "the average is of steps %s; expected %d checkpoints from the last fifth of training, "
        "steps %d to %d: train with --checkpoint_every_steps=%d or less, or set "
        "--average_checkpoints=%d, which averages a finished run again",
        ", ".join(map(str, steps)),
        count,
        start,
        last_step,
        max(1, last_step // 5 // max(1, count - 1)),
        max(1, usable),
    )


def _average(name: str, checkpoints: Sequence[Checkpoint]) -> Candidate:
    steps = sorted(checkpoint.step for checkpoint in checkpoints)
    return Candidate(name, mean_weights(checkpoints), tuple(steps))
