"""Preprocessing on Apache Beam: one graph, one job, over any of its runners."""

import re
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.blocks.inventory import InputTask
from pipeline.common.errors import FULL_DISK, TO_CONTINUE, ResumableError, UserError
from pipeline.stages.make_dataset import Job, MakeDataset
from pipeline.stages.runners import make_runner, run_to_end

_SYSTEM_ERROR = re.compile(r"\[Errno (\d+)\] ([^\[\n]*)")
_VERB = re.compile(r"while running '(?:MakeDataset/)?(\w+)")


def run(job: Job, tasks: Sequence[InputTask], options: PipelineOptions) -> None:
    """Makes the files of a dataset on the runner of the options, and waits for the end.

    Raises:
        UserError: the runner lacks an option.
        ResumableError: a full disk, or files that a worker cannot reach.
    """
    pipeline = make_pipeline(job, tasks, options)
    try:
        run_to_end(pipeline)
    except (RuntimeError, OSError) as error:
        explained = _explain(error, job)
        if explained is None:
            raise
        raise explained from error


def make_pipeline(job: Job, tasks: Sequence[InputTask], options: PipelineOptions) -> beam.Pipeline:
    """Returns the pipeline that makes the files of a dataset.

    Raises:
        UserError: the runner lacks an option.
    """
    try:
        pipeline = beam.Pipeline(runner=make_runner(options), options=options)
    except ValueError as error:
        runner = options.get_all_options()["runner"]
        raise UserError(f"--runner={runner}: {error}") from error
    pipeline | "ListInputs" >> beam.Create(tasks) | MakeDataset(job)
    return pipeline


def _explain(error: Exception, job: Job) -> UserError | None:
    """Returns a file system's failure in a user's terms; most engines pass on its text alone."""
    failure, running = _SYSTEM_ERROR.search(str(error)), _VERB.search(str(error))
    if failure is None:
        return None
    number, problem = int(failure[1]), failure[2].strip()
    verb = f"{running[1]}: " if running else ""
    if number in FULL_DISK:
        reason, _, path = problem.partition(": ")
        place = path.strip("'") or job.work
        return ResumableError(
            f"{verb}cannot write {place}: {reason}; free some space; {TO_CONTINUE}"
        )
    return ResumableError(
        f"{verb}{problem}; every worker must be able to read the inputs and to "
        f"write to {job.work}; {TO_CONTINUE}"
    )
