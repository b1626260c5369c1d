"""The driver: lists inputs, starts the one job that makes the dataset, publishes its files.

It reads no text but the start of each input, to check the script, and what no worker can read
(`corpora.inputs.must_be_cut_here`). `stages.make_dataset` has the graph.
"""

from collections.abc import Sequence
from typing import Any

from absl import logging

from pipeline.blocks.inventory import InputTask
from pipeline.blocks.stop import Stop
from pipeline.build.find_inputs import find_inputs
from pipeline.build.follow import follow_job
from pipeline.build.script_check import warn_of_other_scripts
from pipeline.build.staging import Staging, completed_config, open_staging
from pipeline.build.vocabularies import check_given
from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.corpora.inputs import Input
from pipeline.dataset.schema import FORMAT_VERSION, SPLITS, Dataset, load_dataset
from pipeline.stages import beam_pipeline
from pipeline.stages.make_dataset import Job

_WORK_VERSION = 3  # of the files between the stages: work in another version is not continued


def build_dataset(config: PreprocessConfig, options: Any) -> Dataset:
    """Makes the dataset directory that the configuration describes, unless it is complete.

    Args:
        config: inputs, output directory and settings.
        options: Beam's options, by `stages.runners.make_options`.

    Returns:
        The dataset, as the trainer loads it.

    Raises:
        UserError: the inputs, the directory or the vocabulary size cannot be used, or another
            process is preprocessing into the directory.
    """
    config = config.resolved()
    completed = completed_config(config.output_dir)
    if completed is not None:
        _check_same(config, completed)
        logging.info(
            "%s is already complete: nothing to do (if its inputs have changed since, delete it or "
            "choose another --output_dir)",
            config.output_dir,
        )
        return load_dataset(config.output_dir)
    subwords = check_given(config)
    config.rules.chosen("train")  # a rule that cannot be applied raises here, before any work
    with open_staging(config.output_dir) as staging:
        inputs = {split: find_inputs(config, split) for split in SPLITS}
        warn_of_other_scripts(config.languages, inputs["train"])
        names = {split: [each.name for each in inputs[split]] for split in SPLITS}
        key = {"config": config.content(), "inputs": names, "subwords": subwords}
        versions = {"format_version": FORMAT_VERSION, "work_version": _WORK_VERSION}
        staging.claim({**key, **versions})
        _run(config, staging, inputs, options)
        staging.publish()
    return load_dataset(config.output_dir)


def _run(
    config: PreprocessConfig,
    staging: Staging,
    inputs: dict[str, Sequence[Input]],
    options: Any,
) -> None:
    """Runs the job; raises the user's mistake that a worker found, if any."""
    like = config.sharing.like
    job = Job(
        config,
        output=staging.output,
        raw=staging.raw,
        work=staging.work,
        missing=tuple(split for split in SPLITS if not inputs[split]),
        shapes=load_dataset(like).bucket_shapes if like else None,
    )
    storage.delete(job.stop_path)
    tasks = [
        InputTask.prepare(split, number, parallel_text, config.block_lines, staging.raw)
        for split in SPLITS
        for number, parallel_text in enumerate(inputs[split])
    ]
    with follow_job(job.work, len(tasks), config.block_lines):
        beam_pipeline.run(job, tasks, options)
    if storage.is_file(job.stop_path):
        raise Stop.read(job.stop_path).to_error()


def _check_same(config: PreprocessConfig, completed: dict[str, Any]) -> None:
    """Raises UserError if a complete dataset was made with other flags."""
    before = PreprocessConfig().content() | completed  # newer flags had their defaults
    for name, value in config.content().items():
        if before[name] != value:
            raise UserError(
                f"{config.output_dir} holds a dataset made with {_as_flag(name, before[name])}, "
                f"received {_as_flag(name, value)}: choose another --output_dir"
            )


def _as_flag(name: str, value: Any) -> str:
    """Returns a flag as the user types it, from the JSON value of the data card."""
    if value is None or value == []:
        return f"no --{name}"
    text = ",".join(value) if isinstance(value, list) else str(value)
    return f"--{name}={text.lower() if isinstance(value, bool) else text}"
