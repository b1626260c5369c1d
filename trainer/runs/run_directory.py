"""The run directory: a run's configuration, written once, and checked when it is resumed or used.

run_dir/run.json        configuration and data fingerprint
        flags.txt       the same as a flagfile
        subwords.*      a copy, so translating requires no dataset
        checkpoints/ averaged/ tensorboard/ metrics.jsonl evaluation-*.json
"""

import contextlib
import dataclasses
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from model.config import SearchConfig, TransformerConfig
from pipeline.common import lock, storage
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import Dataset
from trainer.config import TrainingConfig
from trainer.runs.origin import Origin, find_origin
from trainer.runs.training_data import TrainingData, describe_data, parse_data


@dataclasses.dataclass(frozen=True)
class Run:
    """A run's configuration and where its files are.

    directory: the run directory.
    transformer, training, search: the resolved flags.
    data: the dataset it is trained on.
    origin: the checkpoint that its training started from, if not from new weights.
    """

    directory: Path
    transformer: TransformerConfig
    training: TrainingConfig
    search: SearchConfig
    data: TrainingData
    origin: Origin | None = None

    def subwords_path(self, side: str) -> Path:
        """Returns the run's own copy of the subwords of a side, "source" or "target"."""
        return self.directory / self.data.vocabularies[side].path


def open_run(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    *datasets: Dataset,
    write: bool = True,
) -> Run:
    """Creates the run directory, or resumes the run in it.

    Args:
        transformer: the architecture.
        training: how to train, and in which run directory.
        search: default search settings of the run.
        datasets: those to train on, mixed if several.
        write: whether to create and update the directory; False for all workers but the chief.

    Raises:
        UserError: if the directory holds a run of another configuration or on other data that has
            saved a checkpoint; or the checkpoint to start from does not exist.
    """
    run = configure_run(transformer, training, search, *datasets)
    directory = run.directory
    if has_begun(directory):
        _check_same(load_run(directory), run)
    run = add_origin(run)
    if write:
        _make_folder(directory)
        # Written first, so that an interrupted start is still recognised as a run.
        configuration = dataclasses.asdict(run)
        del configuration["directory"]
        text = json.dumps(configuration, indent=1) + "\n"
        write_atomically(str(directory / "run.json"), text.encode())
        for side, vocabulary in run.data.vocabularies.items():
            subwords = storage.read(datasets[0].path(vocabulary.path))
            write_atomically(str(run.subwords_path(side)), subwords)
        write_atomically(str(directory / "flags.txt"), _flagfile(run).encode())
    return run


def has_begun(run_dir: str | Path) -> bool:
    """Returns whether a directory holds a run that has saved weights, so must be continued."""
    directory = Path(run_dir)
    saved = (directory / name for name in ("checkpoints", "best", "averaged"))
    return (directory / "run.json").exists() and any(path.exists() for path in saved)


def add_origin(run: Run) -> Run:
    """Adds the checkpoint that the run starts from, or, once it has begun, that it started from.

    Raises:
        UserError: a new run's --init_from has no such checkpoint.
    """
    if has_begun(run.directory):
        return dataclasses.replace(run, origin=load_run(run.directory).origin)
    return dataclasses.replace(run, origin=find_origin(run.training))


@contextlib.contextmanager
def lock_run_directory(run_dir: str) -> Iterator[None]:
    """Locks a run directory against training by other processes.

    On file systems without locks it warns instead.

    Raises:
        UserError: if another process holds the lock, or the directory is not a run's.
    """
    directory = _local(run_dir)
    _make_folder(directory)
    with lock.lock_folder(directory, work="training", remedy="set another --run_dir"):
        yield


def configure_run(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    *datasets: Dataset,
) -> Run:
    """Returns the run that these settings describe, whether or not it exists.

    Local paths are recorded as absolute ones, so that commands find them from any directory.
    """
    directories = [
        directory if storage.is_url(directory) else str(Path(directory).absolute())
        for directory in training.dataset_dirs
    ]
    origin = training.init_from and str(Path(training.init_from).absolute())
    training = dataclasses.replace(training, dataset_dir=",".join(directories), init_from=origin)
    return Run(_local(training.run_dir), transformer, training, search, describe_data(datasets))


def load_run(directory: str | Path) -> Run:
    """Reads the configuration of an existing run.

    Raises:
        UserError: if `directory` holds no run, or a run of another version of this software.
    """
    directory = _local(directory)
    path = directory / "run.json"
    if not path.exists():
        raise UserError(
            f"no run in {directory} (it has no run.json): "
            f"train one with python -m trainer.task --run_dir={shlex.quote(str(directory))} …"
        )
    try:
        values = json.loads(path.read_text("utf-8"))
        return Run(
            directory=directory,
            transformer=TransformerConfig(**values["transformer"]),
            training=TrainingConfig(**_with_tuples(values["training"])),
            search=SearchConfig(**values["search"]),
            data=parse_data(values["data"]),
            origin=Origin(**values["origin"]) if values.get("origin") else None,
        )
    except (TypeError, ValueError, KeyError) as error:
        raise UserError(
            f"{path} cannot be read ({error}): expected what this version of Beamformer writes; "
            "use the version that trained the run, or restore the file"
        ) from error


def _make_folder(directory: Path) -> None:
    """Creates a run directory; raises UserError if the folder exists and is not a run's."""
    if not (directory / "run.json").exists() and directory.is_dir():
        ours = (lock.FILE_NAME, "run.json.")  # the second: a temporary file of an interrupted start
        if any(not path.name.startswith(ours) for path in directory.iterdir()):
            raise UserError(
                f"{directory} is not empty and holds no run; expected a new or empty directory: "
                "set another --run_dir"
            )
    directory.mkdir(parents=True, exist_ok=True)


def _local(directory: str | Path) -> Path:
    if storage.is_url(str(directory)):
        raise UserError(
            f"received --run_dir={directory}: expected a folder of a file system, which several "
            "machines may share; mount the store, or copy the run there afterwards"
        )
    return Path(directory)


def _check_same(old: Run, new: Run) -> None:
    """Raises UserError if `new` would not continue what `old` began."""
    for before, after in ((old.transformer, new.transformer), (old.training, new.training)):
        for field in dataclasses.fields(before):
            was, now = getattr(before, field.name), getattr(after, field.name)
            if was != now and not field.metadata.get("may_change"):
                raise UserError(
                    f"{old.directory} holds a run of another configuration: --{field.name} was "
                    f"{was!r}, now {now!r}; set another --run_dir, or the old value "
                    f"(see {old.directory}/flags.txt)"
                )
    if old.data.filled != new.data.filled:
        raise UserError(
            f"{old.directory} was started by a version of Beamformer whose --tokens_per_batch "
            f"counts the {old.data.filled}, here the {new.data.filled}: finish it with that "
            "version, or set another --run_dir"
        )
    if old.data != new.data:
        raise UserError(_describe_other_data(old.training.dataset_dir, new))


def _describe_other_data(trained_on: str, new: Run) -> str:
    received = new.training.dataset_dir
    if Path(trained_on).absolute() == Path(received):
        return (
            f"the dataset of {new.directory} was replaced: {received} is not what the run was "
            "trained on; restore it, or train on the new one with another --run_dir"
        )
    return (
        f"{new.directory} was trained on another dataset than {received}: set "
        f"--dataset_dir={shlex.quote(trained_on)}, or another --run_dir"
    )


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Returns fields of a configuration with tuples where JSON has lists."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def _flagfile(run: Run) -> str:
    lines = ["# The resolved flags of this run."]
    for config in (run.training, run.transformer, run.search):
        names = [field.name for field in dataclasses.fields(config)]
        lines += [as_flags(config, name) for name in names if getattr(config, name) is not None]
    return "".join(f"{line}\n" for line in lines)
