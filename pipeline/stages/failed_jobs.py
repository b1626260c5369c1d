"""Failed jobs of engines, in one line: what a worker raised, and where to read more."""

from absl import logging
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from pipeline.common.errors import TO_CONTINUE, ResumableError

_LONGEST_REASON = 300  # characters


class FailedJobError(ResumableError, RuntimeError):
    """An engine's job that failed, in one line; also a RuntimeError, which is what Beam raises."""


def explain(error: Exception, page: str = "") -> FailedJobError:
    """Returns which exception a worker's traceback names, or else how a job's error begins.

    `--verbosity=1` shows all of it.
    """
    logging.debug("%s", error)
    _, has_traceback, traceback = str(error).rpartition("Traceback (most recent call last):")
    lines = [line for line in traceback.split("\n") if line.strip() and not line[0].isspace()]
    whole = " ".join(str(error).split())
    reason = (lines[0] if has_traceback and lines else whole) or "the engine gave no reason"
    see = f"see {page}; " if page else ""
    return FailedJobError(f"the job failed: {reason[:_LONGEST_REASON]}; {see}{TO_CONTINUE}")


def dataflow_page(job: str, options: PipelineOptions) -> str:
    """Returns the address of a job's page."""
    google = options.view_as(GoogleCloudOptions)
    console = "https://console.cloud.google.com/dataflow/jobs"
    return f"{console}/{google.region}/{job}?project={google.project}"
