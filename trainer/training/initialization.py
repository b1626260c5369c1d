"""Starting from the weights of another run (`--init_from`), with the same or other subwords."""

from pathlib import Path

import numpy as np

from pipeline.common.errors import UserError
from pipeline.dataset.schema import END_ID, PADDING_ID, SIDES, UNKNOWN_ID, Dataset
from pipeline.subwords.encoding import load_subwords
from trainer.runs.checkpoint_files import Arrays, read_arrays, read_checkpoint
from trainer.runs.checkpoints import assign_weights, take_weights
from trainer.runs.origin import hash_weights
from trainer.runs.run_directory import Run, load_run
from trainer.training.train_step import TrainingModel

_SPECIAL = (PADDING_ID, END_ID, UNKNOWN_ID)
_MATRICES = ("transformer/source_embedding/matrix", "transformer/embedding/matrix")


def start_from_origin(run: Run, training_model: TrainingModel, dataset: Dataset) -> str:
    """Gives the model of a new run the weights of its origin, and starts its moving average there.

    Where a subword has no equal in the origin, its row of the embedding stays freshly initialised.

    Returns:
        What was done, for the log.

    Raises:
        UserError: the origin's weights have changed or belong to another model; its subwords are
            of another kind; or rows that are freshly initialised would be frozen.
    """
    if run.origin is None:
        raise ValueError(f"{run.directory} has no origin: expected a run with --init_from")
    path = Path(run.origin.path)
    origin = load_run(run.training.init_from)
    if hash_weights(path) != run.origin.sha256:
        raise UserError(f"{path} is not what {run.directory} started from: set another --run_dir")
    weights = read_arrays(read_checkpoint(path), "weights")
    done = f"those of {path}, step {run.origin.step:,}"
    if not _has_same_subwords(origin, run):
        fresh = take_weights(training_model.transformer)
        weights, copied, rows = _match_subwords(origin, dataset, weights, fresh)
        done += f"; {copied:,} of {rows:,} subwords are in both, the others start afresh"
        if copied < rows and "embedding" in run.training.freeze:
            raise UserError(
                f"received --freeze=embedding, and {rows - copied:,} subwords of the data are not "
                f"in {origin.directory}: expected all; freeze other parts, or preprocess with "
                f"--subwords_model={origin.subwords_path('target')}"
            )
    assign_weights(training_model.transformer, weights, path)
    training_model.optimizer.start_averages(training_model.gradients.variables)
    return done


def _has_same_subwords(origin: Run, run: Run) -> bool:
    vocabularies = origin.data.vocabularies, run.data.vocabularies
    return all(vocabularies[0][side].sha256 == vocabularies[1][side].sha256 for side in SIDES)


def _match_subwords(
    origin: Run, dataset: Dataset, weights: Arrays, fresh: Arrays
) -> tuple[Arrays, int, int]:
    """Copies the rows of equal subwords into the embeddings of another vocabulary.

    Args:
        origin: the run with the old subwords.
        dataset: has the new subwords.
        weights: of the origin, by variable.
        fresh: of the new model, initialised, by variable.

    Returns:
        the weights of the new model; copied rows; all rows.
    """
    kinds = {vocabulary.kind for vocabulary in dataset.vocabularies.values()}
    if kinds != (old := {vocabulary.kind for vocabulary in origin.data.vocabularies.values()}):
        raise UserError(
            f"{dataset.directory} has {' and '.join(kinds)} subwords, {origin.directory} "
            f"{' and '.join(old)}: preprocess it with --subwords={old.pop()}"
        )
    names = {side: _matrix_of(side, fresh) for side in SIDES}
    merged = {name: array for name, array in weights.items() if name not in _MATRICES}
    copied = total = 0
    for name in dict.fromkeys(names.values()):
        sides = [side for side in SIDES if names[side] == name]
        rows: dict[str | int, np.ndarray] = {}
        for side in sides:  # the target's last: its rows are also the map to logits
            pieces = _pieces(origin.subwords_path(side))
            rows.update(zip(pieces, weights[_matrix_of(side, weights)], strict=True))
        pieces = _pieces(dataset.path(dataset.vocabularies[sides[0]].path))
        merged[name] = np.stack(
            [rows.get(piece, row) for piece, row in zip(pieces, fresh[name], strict=True)]
        )
        copied += len(rows.keys() & {*pieces})
        total += len(pieces)
    return merged, copied, total


def _matrix_of(side: str, weights: Arrays) -> str:
    """Returns the name of a side's embedding: sides that share subwords have the target's."""
    return _MATRICES[0] if side == "source" and _MATRICES[0] in weights else _MATRICES[1]


def _pieces(path: str | Path) -> list[str | int]:
    """Returns the subwords in a file by id; special ones, however they are spelled, as their id."""
    subwords = load_subwords(path)
    pieces = subwords.pieces(range(subwords.vocabulary_size))
    return [id if id in _SPECIAL else piece for id, piece in enumerate(pieces)]
