"""Checkpoints: everything a run needs to go on, in NumPy's own file format.

    run_dir/checkpoints/step-00001000/weights.npz     one array a variable, by its path
                                      state.npz       optimizer and random state
                                      checkpoint.json the fields of `Checkpoint`

A checkpoint is written under another name and renamed, so it exists whole or not at all.
`run_dir/averaged/` has the same form without the state, and so has `run_dir/best/step-…/`.
"""

import dataclasses
import json
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import keras
import numpy as np
from absl import logging

from model.transformer import Transformer
from pipeline.errors import UserError
from pipeline.schema import write_atomically

Arrays = dict[str, np.ndarray]
Shapes = Mapping[str, tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on disk.

    step: updates made.
    train_seconds: time spent training so far, over all sessions of the run.
    interim: saved only because the run was stopped; never averaged, and deleted by the next.
    sources: steps of the checkpoints that were averaged into it, if any.
    bleu: on dev, of the best ones.
    """

    path: Path
    step: int
    train_seconds: float
    interim: bool = False
    sources: tuple[int, ...] = ()
    bleu: float | None = None


def save_checkpoint(
    run_dir: Path,
    learner: keras.Model,
    *,
    step: int,
    train_seconds: float,
    keep: int,
    interim: bool = False,
) -> Checkpoint:
    """Saves a learner (its `transformer` and `optimizer`) and deletes all but the `keep` newest."""
    path = run_dir / "checkpoints" / f"step-{step:08d}"
    checkpoint = Checkpoint(path, step, train_seconds, interim)
    _write(checkpoint, _read(_weights(learner.transformer)), state=_read(_state(learner)))
    older = [old for old in list_checkpoints(run_dir) if old.step < step]
    regular = [old for old in older if not old.interim]
    surplus = [] if interim else regular[: max(len(regular) + 1 - keep, 0)]
    for old in surplus + [old for old in older if old.interim]:
        shutil.rmtree(old.path)
    return checkpoint


def save_best(
    run_dir: Path, transformer: Transformer, *, step: int, bleu: float, keep: int
) -> None:
    """Saves weights that are among the `keep` best so far by dev BLEU; of equals, the earlier."""
    better = [old for old in list_best(run_dir) if old.step != step]
    if len(better) >= keep and bleu <= (better[keep - 1].bleu or 0.0):
        return
    best = Checkpoint(run_dir / "best" / f"step-{step:08d}", step, train_seconds=0.0, bleu=bleu)
    _write(best, _read(_weights(transformer)))
    for old in list_best(run_dir)[keep:]:
        shutil.rmtree(old.path)


def list_best(run_dir: Path) -> list[Checkpoint]:
    """Lists the weights that were best on dev, best first."""
    return sorted(_list(run_dir / "best"), key=lambda one: (-(one.bleu or 0.0), one.step))


def list_checkpoints(run_dir: Path) -> list[Checkpoint]:
    """Lists the run's checkpoints, oldest first, without those whose description is damaged."""
    return _list(run_dir / "checkpoints")


def restore_latest(run_dir: Path, learner: keras.Model) -> Checkpoint | None:
    """Restores the newest checkpoint that can be read, and returns it; None when there is none."""
    for checkpoint in reversed(list_checkpoints(run_dir)):
        try:
            weights, state = _load(checkpoint, "weights"), _load(checkpoint, "state")
        except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
            logging.warning("skipping damaged checkpoint %s: %s", checkpoint.path, error)
            continue
        _assign(_weights(learner.transformer), weights, checkpoint.path)
        _assign(_state(learner), state, checkpoint.path)
        return checkpoint
    return None


def load_weights(checkpoint: Checkpoint, transformer: Transformer) -> None:
    """Loads a checkpoint's weights into a model of the same configuration."""
    _assign(_weights(transformer), _load(checkpoint, "weights"), checkpoint.path)


def assign_weights(transformer: Transformer, weights: Arrays, path: Path) -> None:
    """Gives a model the weights that were read from `path`."""
    _assign(_weights(transformer), weights, path)


def mean_weights(checkpoints: Sequence[Checkpoint]) -> Arrays:
    """Returns the mean of the checkpoints' weights (§6.1).

    Raises:
        UserError: if they belong to different configurations.
    """
    total: Arrays = {}
    for checkpoint in checkpoints:
        weights = _load(checkpoint, "weights")
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
    _write(averaged, weights)
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
        return _describe(averaged)
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


def _state(learner: keras.Model) -> dict[str, keras.Variable]:
    """All but the weights; random state by order, as Keras numbers its names per process."""
    random = learner.transformer.non_trainable_variables
    scaling = learner.loss_scale.variables if learner.loss_scale else []
    return {variable.path: variable for variable in [*learner.optimizer.variables, *scaling]} | {
        f"random/{i}": variable for i, variable in enumerate(random)
    }


def _read(variables: dict[str, keras.Variable]) -> Arrays:
    return {name: keras.ops.convert_to_numpy(variable) for name, variable in variables.items()}


def _assign(variables: dict[str, keras.Variable], arrays: Arrays, path: Path) -> None:
    _require_same(_shapes(variables), _shapes(arrays), path)
    for name, variable in variables.items():
        variable.assign(arrays[name])


def _shapes(arrays: Mapping[str, np.ndarray | keras.Variable]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(array.shape) for name, array in arrays.items()}


def _require_same(wanted: Shapes, received: Shapes, path: Path) -> None:
    differ = sorted(name for name, _ in wanted.items() ^ received.items())
    if differ:
        names = ", ".join(dict.fromkeys(differ[:3]))
        raise UserError(
            f"{path} belongs to another configuration: {names} … differ; expected one of the run "
            "in that directory: move it away"
        )


def _list(folder: Path) -> list[Checkpoint]:
    checkpoints = []
    for path in sorted(folder.glob("step-*[0-9]")):
        try:
            checkpoints.append(_describe(path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            logging.warning("skipping damaged checkpoint %s: %s", path, error)
    return checkpoints


def _describe(path: Path) -> Checkpoint:
    values = json.loads((path / "checkpoint.json").read_text("utf-8"))
    return Checkpoint(path, **{**values, "sources": tuple(values["sources"])})


def _load(checkpoint: Checkpoint, name: str) -> Arrays:
    with np.load(checkpoint.path / f"{name}.npz") as file:
        return dict(file)


def _write(checkpoint: Checkpoint, weights: Arrays, state: Arrays | None = None) -> None:
    temporary = checkpoint.path.with_name(f".{checkpoint.path.name}.tmp")
    replaced = checkpoint.path.with_name(f".{checkpoint.path.name}.old")
    for leftover in (temporary, replaced):
        shutil.rmtree(leftover, ignore_errors=True)
    temporary.mkdir(parents=True)
    _save(temporary / "weights.npz", weights)
    if state is not None:
        _save(temporary / "state.npz", state)
    values = dataclasses.asdict(checkpoint)
    del values["path"]
    write_atomically(str(temporary / "checkpoint.json"), (json.dumps(values) + "\n").encode())
    if checkpoint.path.exists():
        checkpoint.path.rename(replaced)
    temporary.rename(checkpoint.path)
    shutil.rmtree(replaced, ignore_errors=True)


def _save(path: Path, arrays: Arrays) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # its stub takes them for allow_pickle
        file.flush()
        os.fsync(file.fileno())
