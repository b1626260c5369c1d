"""Beam's runners: options checked, dead workers noticed, log messages reduced to problems.

"DirectRunner" means `beam_internals.make_local_runner`, which downloads nothing. Any other name is
passed to Beam; "PrismRunner" runs the binary that is installed, where Beam would download one.
"""

import argparse
import contextlib
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import apache_beam as beam
from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    WorkerOptions,
)
from apache_beam.runners import PipelineRunner, create_runner

from pipeline.common import signals, storage
from pipeline.common.cli import refuse_unknown
from pipeline.common.errors import TO_CONTINUE, UserError
from pipeline.stages import beam_internals, engines, failed_jobs, worker

DIRECT = "DirectRunner"
_UNCHECKED = "--"  # before options that only a job service knows
_PRISM_LOGGERS = ("PrismJobServer", "PrismRunner", "SdkWorker")


def make_options(
    runner: str, num_workers: int, arguments: Sequence[str], our_flags: Sequence[str]
) -> PipelineOptions:
    """Returns Beam's options.

    Args:
        runner: name of a Beam runner.
        num_workers: worker processes of DirectRunner, or the initial number on Dataflow.
        arguments: command-line arguments that are not our flags; those after "--" are passed on
            unchecked, for a job service that knows more options than Beam's Python does.
        our_flags: our flags, suggested together with Beam's when an argument is unknown.

    Raises:
        UserError: the runner or an argument is unknown, or no service answers at the runner's
          address.
    """
    _load_runner(runner)  # may define options of its own
    checked, unchecked = _split_arguments(arguments)
    _reject_unknown_options(checked, our_flags)
    _quieten()
    options = PipelineOptions([*checked, *unchecked, f"--runner={runner}"])
    options.view_as(DirectOptions).direct_num_workers = num_workers
    if num_workers > 1 and runner != DIRECT:
        options.view_as(WorkerOptions).num_workers = num_workers
    storage.connect(options.get_all_options(drop_default=True))
    engines.prepare(runner, options)
    return options


def make_runner(options: PipelineOptions) -> PipelineRunner:
    """Returns the runner that the options name."""
    name = options.get_all_options()["runner"]
    if name != DIRECT:
        return _load_runner(name)
    has_workers = options.view_as(DirectOptions).direct_num_workers > 1
    return beam_internals.make_local_runner(options, worker.command() if has_workers else None)


def run_to_end(pipeline: beam.Pipeline) -> None:
    """Runs a pipeline and waits for its end; an interrupt also cancels the job on its engine.

    If a worker process of DirectRunner dies, this process ends, with exit code 2. While
    DirectRunner runs, SIGINT and SIGTERM end it at once: Beam would wait for its workers.

    Raises:
        FailedJobError: a job failed, or the engine lost a worker and gave up.
    """
    with _noticing_dead_workers(), signals.exiting_at_once(f"interrupted; {TO_CONTINUE}"):
        result = _submit(pipeline)
    try:
        with signals.raising_interrupts():
            result.wait_until_finish()
    except KeyboardInterrupt:
        with contextlib.suppress(NotImplementedError):
            result.cancel()
        raise
    except RuntimeError as error:
        raise failed_jobs.explain(error) from error
    except Exception as error:
        if type(error).__name__ != "DataflowRuntimeException":  # which needs Google's clients
            raise
        page = failed_jobs.dataflow_page(result.job_id(), pipeline.options)
        raise failed_jobs.explain(error, page) from error


def _submit(pipeline: beam.Pipeline) -> Any:
    """Runs a pipeline; returns its result, which a remote engine gives at once.

    Raises:
        UserError: Beam cannot download the job server of Flink or Spark.
    """
    try:
        return pipeline.run()
    except RuntimeError as error:
        if not str(error).startswith("Unable to fetch remote job server jar"):
            raise
        raise UserError(f"{error}, or start a job server and give --job_endpoint") from error


@contextlib.contextmanager
def _noticing_dead_workers() -> Iterator[None]:
    """Ends this process when a worker process dies: Beam would wait for it forever."""

    def notice(failure: threading.ExceptHookArgs) -> None:
        if beam_internals.is_worker_exit(failure):
            if not beam_internals.is_interrupt(failure):
                _exit_without_worker(failure.exc_value)
        elif failure.exc_type.__module__ != "grpc":  # whose error only reports the lost connection
            previous(failure)

    previous, threading.excepthook = threading.excepthook, notice
    try:
        yield
    finally:
        threading.excepthook = previous


def _exit_without_worker(reason: BaseException | None) -> NoReturn:
    print(
        f"error: a worker process died ({reason}), perhaps for lack of memory: give fewer "
        f"--num_workers; {TO_CONTINUE}",
        file=sys.stderr,
        flush=True,
    )
    os._exit(2)


def _load_runner(name: str) -> PipelineRunner:
    try:
        return create_runner(name)
    except ImportError as error:
        raise UserError(
            f"--runner={name} requires a library that is not installed ({error}): "
            "pip install 'apache-beam[gcp]'"
        ) from error
    except (AttributeError, ValueError) as error:
        raise UserError(f"received --runner={name}: {error}") from error


def _quieten() -> None:
    """Silences informational messages of engines and stores, which would break a progress bar."""
    # Beam also raises the errors that it logs.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    logging.getLogger("botocore").setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_important)


def _is_important(record: logging.LogRecord) -> bool:
    """Log filter: drops Beam's messages up to the level INFO, and errors that are raised too."""
    is_raised = record.name.startswith(_PRISM_LOGGERS) or record.module == "portable_runner"
    return not is_raised and (record.levelno > logging.INFO or "apache_beam" not in record.pathname)


def _split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the arguments before and after "--"."""
    marks = [*arguments, _UNCHECKED].index(_UNCHECKED)
    return list(arguments[:marks]), list(arguments[marks + 1 :])


def _reject_unknown_options(arguments: Sequence[str], our_flags: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    beam_internals.add_all_options(parser)
    try:
        known_values, unknown = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise UserError(f"received an invalid Beam option: {error}") from error
    if unknown:
        refuse_unknown(unknown[0], [*our_flags, *_option_names(parser)])
    if known_values.direct_num_workers != parser.get_default("direct_num_workers"):
        raise UserError("received --direct_num_workers: expected --num_workers, which sets it")


def _option_names(parser: argparse.ArgumentParser) -> list[str]:
    """Returns the names of all options, read from the help: argparse has no public list."""
    options = re.findall(r"^  (--.*)$", parser.format_help(), re.MULTILINE)
    return [name for line in options for name in re.findall(r"--([\w-]+)", line)]
