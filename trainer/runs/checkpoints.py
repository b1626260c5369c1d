"""Checkpoints: everything a run needs to go on, and the weights that are worth keeping.

run_dir/checkpoints/step-00001000/  to go on from, the newest of them
        best/step-00000800/         weights alone: the best by dev BLEU
        averaged/                   weights alone: those that the run ends with
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import keras
import numpy as np
from absl import logging

from model.transformer import Transformer
from pipeline.common.errors import UserError
from trainer.runs.checkpoint_files import (
    Arrays,
    Checkpoint,
    delete_checkpoint,
    list_folder,
    read_arrays,
    read_checkpoint,
    unfinished,
    write_checkpoint,
)

Shapes = Mapping[str, tuple[int, ...]]


def save_checkpoint(
    run_dir: Path,
    training_model: keras.Model,
    *,
    step: int,
    train_seconds: float,
    keep: int,
    interim: bool = False,
) -> Checkpoint:
    """Saves a training model's weights and state; deletes all but the `keep` newest checkpoints.

    Checkpoints of later steps, which were damaged and hence not resumed from, are deleted too.
    """
    path = run_dir / "checkpoints" / f"step-{step:08d}"
    checkpoint = Checkpoint(path, step, train_seconds, interim)
    write_checkpoint(
        checkpoint, _read(_weights(training_model.transformer)), state=_read(_state(training_model))
    )
    others = [other for other in list_checkpoints(run_dir) if other.step != step]
    regular = [other for other in others if other.step < step and not other.interim]
    surplus = [] if interim else regular[: max(len(regular) + 1 - keep, 0)]
    for other in surplus + [other for other in others if other.step > step or other.interim]:
        delete_checkpoint(other)
    return checkpoint


def save_best(
    run_dir: Path, transformer: Transformer, *, step: int, bleu: float, keep: int
) -> None:
    """Saves weights that are among the `keep` best so far by dev BLEU; of equals, the earlier."""
    better = [old for old in list_best(run_dir) if old.step != step]
    if len(better) >= keep and bleu <= (better[keep - 1].bleu or 0.0):
        return
    best = Checkpoint(run_dir / "best" / f"step-{step:08d}", step, train_seconds=0.0, bleu=bleu)
    write_checkpoint(best, _read(_weights(transformer)))
    for old in list_best(run_dir)[keep:]:
        delete_checkpoint(old)


def list_best(run_dir: Path) -> list[Checkpoint]:
    """Lists the weights that were best on dev, best first."""
    return sorted(list_folder(run_dir / "best"), key=lambda one: (-(one.bleu or 0.0), one.step))


def list_checkpoints(run_dir: Path) -> list[Checkpoint]:
    """Lists the run's checkpoints, oldest first, without those whose description is damaged."""
    return list_folder(run_dir / "checkpoints")


def restore_latest(run_dir: Path, training_model: keras.Model) -> Checkpoint | None:
    """Restores the newest checkpoint that can be read, and returns it; None when there is none.

    Raises:
        UserError: if there are some, and none can be read.
    """
    for checkpoint in reversed(list_checkpoints(run_dir)):
        try:
            weights, state = read_arrays(checkpoint, "weights"), read_arrays(checkpoint, "state")
        except UserError as error:
            logging.warning("skipped: %s", error)
            continue
        _assign(_weights(training_model.transformer), weights, checkpoint.path)
        _assign(_state(training_model), state, checkpoint.path)
        return checkpoint
    folder = run_dir / "checkpoints"
    if found := len(list(folder.glob("step-*[0-9]"))):
        raise UserError(
            f"none of the {found} checkpoints in {folder} can be read: make them readable, or "
            "delete that folder to train from the start"
        )
    return None


def delete_unfinished(run_dir: Path) -> None:
    """Deletes what processes that were killed while they saved left behind."""
    for folder in (run_dir, run_dir / "checkpoints", run_dir / "best"):
        for leftover in unfinished(folder):
            shutil.rmtree(leftover, ignore_errors=True)


def load_weights(checkpoint: Checkpoint, transformer: Transformer) -> None:
    """Loads a checkpoint's weights into a model of the same configuration."""
    _assign(_weights(transformer), read_arrays(checkpoint, "weights"), checkpoint.path)


def assign_weights(transformer: Transformer, weights: Arrays, path: Path) -> None:
    """Gives a model the weights that were read from `path`."""
    _assign(_weights(transformer), weights, path)


def mean_weights(checkpoints: Sequence[Checkpoint]) -> Arrays:
    """Returns the mean of the checkpoints' weights (§6.1).

    Raises:
        UserError: if they belong to different configurations, or one is damaged.
    """
    total: Arrays = {}
    for checkpoint in checkpoints:
        weights = read_arrays(checkpoint, "weights")
        _require_same(_shapes(total or weights), _shapes(weights), checkpoint.path)
        for name, array in weights.items():
            total[name] = total.get(name, 0.0) + array.astype(np.float64)
    return {name: (array / len(checkpoints)).astype(np.float32) for name, array in total.items()}


def save_averaged(
    run_dir: Path, weights: Arrays, last: Checkpoint, *, sources: Sequence[int]
) -> Checkpoint:
    """Writes the weights that a run ends with to `run_dir/averaged`.

    Args:
        run_dir: the run.
        weights: by variable.
        last: the checkpoint whose step and training time they have.
        sources: steps of the checkpoints they are the mean of.
    """
    averaged = Checkpoint(
        run_dir / "averaged", last.step, last.train_seconds, sources=tuple(sources)
    )
    write_checkpoint(averaged, weights)
    return averaged


def find_checkpoint(run_dir: Path, name: str) -> Checkpoint:
    """Finds a checkpoint to translate with.

    Args:
        run_dir: the run.
        name: "averaged", "best", "last", a step, or "auto": averaged if there is one, else last.

    Raises:
        UserError: if there is no such checkpoint.
    """
    averaged = run_dir / "averaged"
    checkpoints, best = list_checkpoints(run_dir), list_best(run_dir)
    if name in ("averaged", "auto") and averaged.is_dir():
        return read_checkpoint(averaged)
    if name == "best" and best:
        return best[0]
    if name in ("last", "auto") and checkpoints:
        return checkpoints[-1]
    for checkpoint in checkpoints:
        if name == str(checkpoint.step):
            return checkpoint
    steps = ", ".join(str(checkpoint.step) for checkpoint in checkpoints) or "none"
    raise UserError(
        f"no checkpoint {name!r} in {run_dir} (steps there: {steps}); "
        "train with python -m trainer.task, or name another with --checkpoint"
    )


def _weights(transformer: Transformer) -> dict[str, keras.Variable]:
    return {variable.path: variable for variable in transformer.trainable_variables}


def _state(training_model: keras.Model) -> dict[str, keras.Variable]:
    """All but the weights; random state by order, as Keras numbers its names per process."""
    random = training_model.transformer.non_trainable_variables
    scaling = training_model.loss_scale.variables if training_model.loss_scale else []
    return {
        variable.path: variable for variable in [*training_model.optimizer.variables, *scaling]
    } | {f"random/{i}": variable for i, variable in enumerate(random)}


def _read(variables: dict[str, keras.Variable]) -> Arrays:
    return {name: keras.ops.convert_to_numpy(variable) for name, variable in variables.items()}


def _assign(variables: dict[str, keras.Variable], arrays: Arrays, path: Path) -> None:
    _require_same(_shapes(variables), _shapes(arrays), path)
    for name, variable in variables.items():
        variable.assign(arrays[name])


def _shapes(arrays: Mapping[str, np.ndarray | keras.Variable]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(array.shape) for name, array in arrays.items()}


def _require_same(wanted: Shapes, received: Shapes, path: Path) -> None:
    differ = sorted({name for name, _ in wanted.items() ^ received.items()})
    if differ:
        raise UserError(
            f"{path} belongs to another configuration: {', '.join(differ[:3])} … differ; "
            "expected one of the run in that directory: move it away"
        )
