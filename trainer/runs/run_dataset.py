"""The dataset that a run is used with: where it is, and whether it fits the run."""

import shlex
from pathlib import Path

from absl import logging

from pipeline.common.errors import UserError
from pipeline.dataset.schema import SIDES, Dataset, load_dataset
from pipeline.subwords.sharing import check_tag
from trainer.data.mixture import load_datasets
from trainer.runs.run_directory import Run
from trainer.runs.training_data import TrainingData


def load_run_dataset(run: Run, dataset_dir: str | None = None) -> Dataset:
    """Reads the dataset in `dataset_dir`, or, without one, the first that a run was trained on.

    Raises:
        UserError: as `load_dataset`; for the run's dataset it names --dataset_dir.
    """
    if dataset_dir:
        return load_dataset(dataset_dir)
    return load_run_datasets(run)[0]


def load_run_datasets(run: Run, dataset_dir: str | None = None) -> list[Dataset]:
    """Reads the datasets in `dataset_dir`, or, without any, all that a run was trained on.

    Raises:
        UserError: as `load_run_dataset`.
    """
    if dataset_dir:
        return load_datasets(dataset_dir.split(","))
    try:
        return load_datasets(run.training.dataset_dirs)
    except UserError as error:
        raise UserError(
            f"{run.directory} was trained on {run.training.dataset_dir}: set --dataset_dir if it "
            f"is elsewhere now ({error})"
        ) from error


def check_languages(run: Run, directory: str | Path, data: TrainingData | Dataset) -> None:
    """Checks that a dataset, or the data of another run, has languages of the run.

    Args:
        run: the run.
        directory: of the dataset or of the other run.
        data: the languages to check.

    Raises:
        UserError: if they differ, for example if they are reversed.
    """
    if (data.source_language, data.target_language) not in run.data.languages:
        pairs = dict.fromkeys(f"{source} → {target}" for source, target in run.data.languages)
        raise UserError(
            f"{directory} is {data.source_language} → {data.target_language}, {run.directory} is "
            f"{' and '.join(pairs)}: expected the same of both"
        )


def check_source_tag(run: Run, tag: str) -> None:
    """Checks `--source_tag`; warns if it is not given and the run has only seen text with tags.

    Raises:
        UserError: if the run's subwords have no piece for the tag.
    """
    if tag:
        check_tag(tag, run.subwords_path("source"))
    elif tags := run.data.required_tags:
        logging.warning(
            "%s was trained with %s before each sentence: set --source_tag, unless the text "
            "brings its own",
            run.directory,
            " or ".join(tags),
        )


def check_dataset(run: Run, dataset: Dataset) -> None:
    """Checks that a dataset has the languages and the subwords of the run.

    Raises:
        UserError: if it has others.
    """
    check_languages(run, dataset.directory, dataset)
    if dataset.vocabularies != run.data.vocabularies:
        files = dict.fromkeys(str(run.subwords_path(side)) for side in SIDES)
        models = shlex.quote(",".join(files))
        sharing = "" if len(files) == 1 else " --shared_vocabulary=false"
        raise UserError(
            f"{dataset.directory} has other subwords than {run.directory}: preprocess it with "
            f"--subwords_model={models}{sharing}"
        )
