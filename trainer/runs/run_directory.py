"""The run directory: what a run is, written once, and checked when it is resumed or used.

run_dir/run.json        configuration and data fingerprint
        flags.txt       the same as a flagfile
        subwords.*      so that translating needs no dataset
        checkpoints/ averaged/ tensorboard/ metrics.jsonl evaluation-*.json
"""

import contextlib
import dataclasses
import fcntl
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from absl import logging

from model.config import SearchConfig, TransformerConfig
from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import SIDES, Dataset, Vocabulary
from trainer.config import TrainingConfig


@dataclasses.dataclass(frozen=True)
class Run:
    """A run's configuration and where its files are.

    directory: the run directory.
    transformer, training, search: what the flags said.
    data: fingerprint, languages and vocabularies of the dataset, as JSON values.
    """

    directory: Path
    transformer: TransformerConfig
    training: TrainingConfig
    search: SearchConfig
    data: dict[str, Any]

    @property
    def vocabularies(self) -> dict[str, Vocabulary]:
        """By side; equal if the sides share one."""
        return {side: Vocabulary(**each) for side, each in self.data["vocabularies"].items()}

    def subwords_path(self, side: str) -> Path:
        """Where the run keeps its copy of the subwords of the source or the target."""
        return self.directory / self.vocabularies[side].path


def open_run(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    dataset: Dataset,
    *,
    write: bool = True,
) -> Run:
    """Creates the run directory, or resumes the run that is in it.

    Args:
        transformer: what the flags say of the architecture.
        training: what they say of training.
        search: what they say of search.
        dataset: what is trained on.
        write: whether to create and update it; False for all workers but one.

    Raises:
        UserError: if the directory holds a run of another configuration or of other data, that
            has saved something.
    """
    run = configure_run(transformer, training, search, dataset)
    directory = run.directory
    saved = (directory / name for name in ("checkpoints", "best", "averaged"))
    if (directory / "run.json").exists() and any(path.exists() for path in saved):
        _check_same(load_run(directory), run)
    if write:
        _make_folder(directory)
        # First, so that what is there is known for a run if the rest is not written.
        write_atomically(str(directory / "run.json"), _to_json(run).encode())
        for side, vocabulary in dataset.vocabularies.items():
            subwords = storage.read(dataset.path(vocabulary.path))
            write_atomically(str(run.subwords_path(side)), subwords)
        write_atomically(str(directory / "flags.txt"), _flagfile(run).encode())
    return run


@contextlib.contextmanager
def lock_run_directory(run_dir: str) -> Iterator[None]:
    """Keeps other processes, on file systems that have locks, from training in a run directory.

    Raises:
        UserError: if another does, or the directory holds something other than a run.
    """
    directory = _local(run_dir)
    _make_folder(directory)
    with open(directory / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"another process is training in {directory}: wait for it, stop it, or give "
                "another --run_dir"
            ) from error
        except OSError as error:
            logging.warning(
                "%s cannot be locked (%s): train there once at a time", directory, error
            )
        yield


def configure_run(
    transformer: TransformerConfig,
    training: TrainingConfig,
    search: SearchConfig,
    dataset: Dataset,
) -> Run:
    """Returns a run as the flags and the dataset make it, whether or not it exists."""
    data = {
        "fingerprint": dataset.fingerprint,
        "source_language": dataset.source_language,
        "target_language": dataset.target_language,
        "vocabularies": {
            side: dataclasses.asdict(each) for side, each in dataset.vocabularies.items()
        },
    }
    return Run(_local(training.run_dir), transformer, training, search, data)


def load_run(directory: str | Path) -> Run:
    """Reads the configuration of an existing run.

    Raises:
        UserError: if there is no run in `directory`, or one of another version.
    """
    directory = _local(directory)
    path = directory / "run.json"
    if not path.exists():
        raise UserError(
            f"no run in {directory} (it has no run.json): "
            f"train one with python -m trainer.task --run_dir={directory} …"
        )
    try:
        values = json.loads(path.read_text("utf-8"))
        return Run(
            directory=directory,
            transformer=TransformerConfig(**values["transformer"]),
            training=TrainingConfig(**values["training"]),
            search=SearchConfig(**values["search"]),
            data=values["data"],
        )
    except (TypeError, ValueError, KeyError) as error:
        raise UserError(
            f"{path} cannot be read ({error}): expected what this version of Beamformer writes; "
            "use the version that trained the run, or restore the file"
        ) from error


def check_languages(run: Run, other: str | Path, languages: Mapping[str, str]) -> None:
    """Raises UserError if `other`, a dataset or a run, is of other languages, such as reversed."""
    ours, theirs = (
        f"{of['source_language']} → {of['target_language']}" for of in (run.data, languages)
    )
    if ours != theirs:
        raise UserError(
            f"{other} is {theirs}, {run.directory} is {ours}: expected the same of both"
        )


def check_dataset(run: Run, dataset: Dataset) -> None:
    """Raises UserError if a dataset has other languages or subwords than the run's."""
    languages = {f"{side}_language": getattr(dataset, f"{side}_language") for side in SIDES}
    check_languages(run, dataset.directory, languages)
    if dataset.vocabularies != run.vocabularies:
        files = dict.fromkeys(str(run.subwords_path(side)) for side in SIDES)
        sharing = "" if len(files) == 1 else " --shared_vocabulary=false"
        raise UserError(
            f"{dataset.directory} has other subwords than {run.directory}: preprocess it with "
            f"--subwords_model={','.join(files)}{sharing}"
        )


def _make_folder(directory: Path) -> None:
    """Makes a run directory; raises UserError if something else is there, and leaves it alone."""
    if not (directory / "run.json").exists() and directory.is_dir():
        ours = (".lock", "run.json.")  # the second where writing it was stopped
        if any(not path.name.startswith(ours) for path in directory.iterdir()):
            raise UserError(
                f"{directory} is not empty and holds no run; expected a new or empty directory: "
                "give another --run_dir"
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
    for part in ("transformer", "training", "data"):
        before, after = _values(getattr(old, part)), _values(getattr(new, part))
        changeable = _changeable(getattr(new, part))
        for name in before:
            if name not in changeable and before[name] != after[name]:
                what = f"data {name}" if part == "data" else f"--{name}"
                raise UserError(
                    f"{old.directory} holds a run of another configuration: {what} was "
                    f"{before[name]!r}, now {after[name]!r}; give another --run_dir, or the old "
                    f"value (see {old.directory}/flags.txt)"
                )


def _changeable(config: Any) -> set[str]:
    if isinstance(config, dict):
        return set()
    fields = dataclasses.fields(config)
    return {field.name for field in fields if field.metadata.get("may_change")}


def _values(config: Any) -> dict[str, Any]:
    return config if isinstance(config, dict) else dataclasses.asdict(config)


def _to_json(run: Run) -> str:
    parts = ("transformer", "training", "search", "data")
    return json.dumps({part: _values(getattr(run, part)) for part in parts}, indent=1) + "\n"


def _flagfile(run: Run) -> str:
    configs = (run.training, run.transformer, run.search)
    values = [pair for config in configs for pair in dataclasses.asdict(config).items()]
    return "# The resolved flags of this run.\n" + "".join(
        f"--{name}={str(value).lower() if isinstance(value, bool) else value}\n"
        for name, value in values
    )
