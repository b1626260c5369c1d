"""Checkpoints of a run on disk: the state to resume from, and weights worth keeping.

    run_dir/checkpoints/step-00001000/  weights and state; resuming uses the newest
            best/step-00000800/         weights only: the best by dev BLEU
            averaged/                   weights only: the result of the run

Each is a folder, in NumPy's file format:

    step-00001000/weights.npz     one array per variable, by its path
                  state.npz       optimizer and random state; absent if not meant for resuming
                  checkpoint.json the fields of `Checkpoint`

A checkpoint is written under a temporary name and renamed, so it exists completely or not at all.
"""

import dataclasses
import json
import os
import shutil
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np
from absl import logging

from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically

Arrays = dict[str, np.ndarray]
_UNFINISHED = (".tmp", ".old")  # being written; being replaced or deleted
# What zipfile and NumPy raise for damaged files.
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on disk.

    path: its folder.
    step: number of updates made.
    train_seconds: training time so far, over all sessions of the run.
    interim: saved for resuming only, by time or because the run was stopped; never averaged, and
        deleted by the next save.
    sources: steps of the checkpoints that were averaged into it, if any.
    bleu: dev BLEU, or F1 of a parser, if it was saved as one of the best.
    """

    path: Path
    step: int
    train_seconds: float
    interim: bool = False
    sources: tuple[int, ...] = ()
    bleu: float | None = None


def write_checkpoint(checkpoint: Checkpoint, weights: Arrays, state: Arrays | None = None) -> None:
    """Writes a checkpoint; replaces one at the same path.

    Args:
        checkpoint: its path and description.
        weights: by variable.
        state: by variable; None if not meant for resuming.
    """
    temporary, replaced = (
        checkpoint.path.with_name(f".{checkpoint.path.name}{suffix}") for suffix in _UNFINISHED
    )
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


def delete_checkpoint(checkpoint: Checkpoint) -> None:
    """Deletes a checkpoint atomically: a kill leaves it complete, or among the `unfinished`."""
    doomed = checkpoint.path.with_name(f".{checkpoint.path.name}{_UNFINISHED[1]}")
    shutil.rmtree(doomed, ignore_errors=True)
    checkpoint.path.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def unfinished(folder: Path) -> list[Path]:
    """Lists the leftovers of interrupted writes and deletions in a folder."""
    return [path for suffix in _UNFINISHED for path in folder.glob(f".*{suffix}") if path.is_dir()]


def read_arrays(checkpoint: Checkpoint, name: str) -> Arrays:
    """Reads the arrays "weights" or "state" of a checkpoint.

    Raises:
        UserError: if the file is damaged.
    """
    path = checkpoint.path / f"{name}.npz"
    try:
        with np.load(path) as file:
            return dict(file)
    except _DAMAGED as error:
        raise _damaged(path, error) from error


def read_checkpoint(path: Path) -> Checkpoint:
    """Reads the description of the checkpoint in a folder.

    Raises:
        UserError: if checkpoint.json is damaged.
    """
    description = path / "checkpoint.json"
    try:
        values = json.loads(description.read_text("utf-8"))
        return Checkpoint(path, **{**values, "sources": tuple(values["sources"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(description, error) from error


def list_folder(folder: Path) -> list[Checkpoint]:
    """Lists the checkpoints in a folder by step; skips those with a damaged checkpoint.json."""
    checkpoints = []
    for path in sorted(folder.glob("step-*[0-9]")):
        try:
            checkpoints.append(read_checkpoint(path))
        except UserError as error:
            logging.warning("skipped: %s", error)
    return checkpoints


def list_checkpoints(run_dir: Path) -> list[Checkpoint]:
    """Lists the run's checkpoints, oldest first; skips those with a damaged checkpoint.json."""
    return list_folder(run_dir / "checkpoints")


def list_best(run_dir: Path) -> list[Checkpoint]:
    """Lists the saved best weights by dev BLEU, best first."""
    saved = list_folder(run_dir / "best")
    return sorted(saved, key=lambda checkpoint: (-(checkpoint.bleu or 0.0), checkpoint.step))


def find_checkpoint(run_dir: Path, name: str, *, flag: str = "--checkpoint") -> Checkpoint:
    """Finds a checkpoint by name.

    Args:
        run_dir: the run.
        name: "averaged", "best", "last", a step, or "auto": averaged if it exists, else last.
        flag: that gave the name, for the error message.

    Raises:
        UserError: if the run has no such checkpoint.
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
        f"train with python -m trainer.task, or set another {flag}"
    )


def _damaged(path: Path, error: Exception) -> UserError:
    return UserError(
        f"damaged checkpoint: {path} cannot be read ({error}); delete {path.parent} to continue "
        "without it"
    )


def _save(path: Path, arrays: Arrays) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # NumPy's stub confuses them with allow_pickle
        file.flush()
        os.fsync(file.fileno())
