"""Origin of a run: the checkpoint of another run whose weights it starts from."""

import dataclasses
import hashlib
from pathlib import Path

from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags
from trainer.config import TrainingConfig
from trainer.runs.checkpoint_files import Checkpoint, find_checkpoint


@dataclasses.dataclass(frozen=True)
class Origin:
    """What run.json records of the checkpoint that a run started from.

    path: its folder.
    step: updates made in it.
    sha256: of its weights.npz.
    """

    path: str
    step: int
    sha256: str


def find_origin(training: TrainingConfig) -> Origin | None:
    """Finds what a new run starts from; None without `--init_from`.

    Raises:
        UserError: as `find_origin_checkpoint`.
    """
    if not training.init_from:
        return None
    checkpoint = find_origin_checkpoint(training)
    sha256 = hash_weights(checkpoint.path)
    return Origin(str(checkpoint.path.absolute()), checkpoint.step, sha256)


def find_origin_checkpoint(training: TrainingConfig) -> Checkpoint:
    """Finds the checkpoint that `--init_from` and `--init_checkpoint` name.

    Raises:
        UserError: there is none, or it is the run's own.
    """
    directory = Path(training.init_from)
    if directory.resolve() == Path(training.run_dir).resolve():
        flags = as_flags(training, "init_from", "run_dir")
        raise UserError(f"received {flags}: expected the directory of another run")
    return find_checkpoint(directory, training.init_checkpoint, flag="--init_checkpoint")


def hash_weights(path: Path) -> str:
    """Returns the SHA-256 of the weights in a checkpoint's folder.

    Raises:
        UserError: they cannot be read.
    """
    try:
        with (path / "weights.npz").open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(
            f"--init_from: cannot read {path}/weights.npz ({error.strerror}); restore it, or set "
            "another --init_checkpoint"
        ) from error
