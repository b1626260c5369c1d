"""Checkpoints of a model: saved from its variables, restored into them, averaged."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
from absl import logging

from model.transformer import Transformer
from pipeline.common.errors import UserError
from trainer.runs.checkpoint_files import (
    Arrays,
    Checkpoint,
    delete_checkpoint,
    list_best,
    list_checkpoints,
    read_arrays,
    unfinished,
    write_checkpoint,
)

Shaped = Mapping[str, np.ndarray] | Mapping[str, keras.Variable]


class Snapshot(NamedTuple):
    """A copy of a training model's variables, which training no longer changes.

    weights, state: by variable.
    """

    weights: Arrays
    state: Arrays


def take_snapshot(training_model: keras.Model) -> Snapshot:
    """Copies the weights and the state of a training model from its devices."""
    weights, state = take_weights(training_model.transformer), _state(training_model)
    return Snapshot(weights, _to_arrays(state))


def take_weights(transformer: Transformer) -> Arrays:
    """Copies the weights of a model, by variable."""
    return _to_arrays(_weights(transformer))


def save_checkpoint(
    run_dir: Path,
    snapshot: Snapshot,
    *,
    step: int,
    train_seconds: float,
    keep: int,
    interim: bool = False,
) -> None:
    """Saves a training model's weights and state; deletes all but the `keep` newest checkpoints.

    Checkpoints of later steps, which were damaged and hence not resumed from, are deleted too.
    """
    path = run_dir / "checkpoints" / f"step-{step:08d}"
    checkpoint = Checkpoint(path, step, train_seconds, interim)
    write_checkpoint(checkpoint, snapshot.weights, snapshot.state)
    others = [old for old in list_checkpoints(run_dir) if old.step != step]
    regular = [old for old in others if old.step < step and not old.interim]
    surplus = [] if interim else regular[: max(len(regular) + 1 - keep, 0)]
    for old in surplus + [old for old in others if old.step > step or old.interim]:
        delete_checkpoint(old)


def save_best(
    run_dir: Path, transformer: Transformer, *, step: int, bleu: float, keep: int
) -> None:
    """Saves weights if they are among the `keep` best by dev BLEU; of equals, the earlier are."""
    better = [old for old in list_best(run_dir) if old.step != step]
    if len(better) >= keep and bleu <= (better[keep - 1].bleu or 0.0):
        return
    best = Checkpoint(run_dir / "best" / f"step-{step:08d}", step, train_seconds=0.0, bleu=bleu)
    write_checkpoint(best, take_weights(transformer))
    for old in list_best(run_dir)[keep:]:
        delete_checkpoint(old)


def restore_latest(run_dir: Path, training_model: keras.Model) -> Checkpoint | None:
    """Restores the newest readable checkpoint.

    Returns:
        That checkpoint, or None if the run has no checkpoints.

    Raises:
        UserError: if there are checkpoints, but none is readable.
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
    unreadable = len(list(folder.glob("step-*[0-9]")))
    if unreadable:
        raise UserError(
            f"none of the {unreadable} checkpoints in {folder} can be read: make them readable, or "
            "delete that folder to train from the start"
        )
    return None


def delete_unfinished(run_dir: Path) -> None:
    """Deletes the leftovers of processes that were killed while saving."""
    for folder in (run_dir, run_dir / "checkpoints", run_dir / "best"):
        for leftover in unfinished(folder):
            shutil.rmtree(leftover, ignore_errors=True)


def load_weights(checkpoint: Checkpoint, transformer: Transformer) -> None:
    """Loads a checkpoint's weights into a model of the same configuration."""
    _assign(_weights(transformer), read_arrays(checkpoint, "weights"), checkpoint.path)


def assign_weights(transformer: Transformer, weights: Arrays, path: Path) -> None:
    """Assigns weights to a model of the same configuration.

    Args:
        transformer: the model.
        weights: by variable.
        path: where they were read from, for the error message.

    Raises:
        UserError: if they belong to another configuration.
    """
    _assign(_weights(transformer), weights, path)


def mean_weights(checkpoints: Sequence[Checkpoint]) -> Arrays:
    """Returns the mean of the checkpoints' weights (§6.1).

    Raises:
        UserError: if they belong to different configurations, or one is damaged.
    """
    total: Arrays = {}
    for checkpoint in checkpoints:
        weights = read_arrays(checkpoint, "weights")
        _require_same_shapes(total or weights, weights, checkpoint.path)
        for name, array in weights.items():
            total[name] = total.get(name, 0.0) + array.astype(np.float64)
    return {name: (array / len(checkpoints)).astype(np.float32) for name, array in total.items()}


def save_averaged(
    run_dir: Path, weights: Arrays, last: Checkpoint, *, sources: Sequence[int]
) -> Checkpoint:
    """Writes the final weights of a run to `run_dir/averaged`.

    Args:
        run_dir: the run.
        weights: by variable.
        last: the last checkpoint, for step and training time.
        sources: steps of the checkpoints that were averaged.
    """
    averaged = Checkpoint(
        run_dir / "averaged", last.step, last.train_seconds, sources=tuple(sources)
    )
    write_checkpoint(averaged, weights)
    return averaged


def _weights(transformer: Transformer) -> dict[str, keras.Variable]:
    return {variable.path: variable for variable in transformer.trainable_variables}


def _state(training_model: keras.Model) -> dict[str, keras.Variable]:
    """Returns the optimizer, loss scale and random state.

    Random state is named by order, because Keras's own names depend on the process.
    """
    random = training_model.transformer.non_trainable_variables
    scaling = training_model.loss_scale.variables if training_model.loss_scale else []
    return {
        variable.path: variable for variable in [*training_model.optimizer.variables, *scaling]
    } | {f"random/{i}": variable for i, variable in enumerate(random)}


def _to_arrays(variables: dict[str, keras.Variable]) -> Arrays:
    return {name: keras.ops.convert_to_numpy(variable) for name, variable in variables.items()}


def _assign(variables: dict[str, keras.Variable], arrays: Arrays, path: Path) -> None:
    _require_same_shapes(variables, arrays, path)
    for name, variable in variables.items():
        variable.assign(arrays[name])


def _require_same_shapes(expected: Shaped, received: Shaped, path: Path) -> None:
    """Raises UserError unless both have the same names and shapes."""
    shapes = [
        {(name, tuple(array.shape)) for name, array in arrays.items()}
        for arrays in (expected, received)
    ]
    differ = sorted({name for name, _ in shapes[0] ^ shapes[1]})
    if differ:
        raise UserError(
            f"{path} belongs to another configuration: {', '.join(differ[:3])} … differ; "
            "expected a checkpoint of the run in that directory: move it away"
        )
