"""Beam's runners: options checked, dead workers noticed, log messages reduced to problems.

"DirectRunner" means `beam_internals.make_local_runner`, which downloads nothing. Any other name is
passed to Beam.
"""

import argparse
import contextlib
import logging
import os
import re
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

import apache_beam as beam
from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    PortableOptions,
    WorkerOptions,
)
from apache_beam.runners import PipelineRunner, create_runner

from pipeline.common import signals, storage
from pipeline.common.cli import refuse_unknown
from pipeline.common.errors import TO_CONTINUE, UserError
from pipeline.stages import beam_internals, worker

DIRECT = "DirectRunner"
DASK = "DaskRunner"
_FULL_NAMES = {DASK: "apache_beam.runners.dask.dask_runner.DaskRunner"}  # Beam has no short one
_SECONDS_TO_ANSWER = 10.0


def make_options(
    runner: str, num_workers: int, arguments: Sequence[str], our_flags: Sequence[str]
) -> PipelineOptions:
    """Returns Beam's options.

    Args:
        runner: name of a Beam runner.
        num_workers: worker processes of DirectRunner, or the initial number on Dataflow.
        arguments: command-line arguments that are not our flags.
        our_flags: our flags, suggested together with Beam's when an argument is unknown.

    Raises:
        UserError: the runner or an argument is unknown, or no service answers at the runner's
          address.
    """
    _load_runner(runner)  # may define options of its own
    _reject_unknown_options(arguments, our_flags)
    _quieten()
    options = PipelineOptions([*arguments, f"--runner={runner}"])
    options.view_as(DirectOptions).direct_num_workers = num_workers
    if num_workers > 1 and runner != DIRECT:
        options.view_as(WorkerOptions).num_workers = num_workers
    if runner == DASK:
        _prepare_dask(options)
    storage.connect(options.get_all_options(drop_default=True))
    endpoint = options.view_as(PortableOptions).job_endpoint
    if endpoint and endpoint != "embed":
        _require_answer("--job_endpoint", endpoint)
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
    """
    with _noticing_dead_workers(), signals.exiting_at_once(f"interrupted; {TO_CONTINUE}"):
        result = pipeline.run()
    try:
        with signals.raising_interrupts():
            result.wait_until_finish()
    except KeyboardInterrupt:
        with contextlib.suppress(NotImplementedError):
            result.cancel()
        raise
    finally:
        if client := getattr(result, "client", None):  # Dask's, which Beam leaves open
            client.close()


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
        return create_runner(_FULL_NAMES.get(name, name))
    except ImportError as error:
        raise UserError(
            f"--runner={name} requires a library that is not installed ({error}): "
            "pip install 'apache-beam[dask]' or 'apache-beam[gcp]'"
        ) from error
    except (AttributeError, ValueError) as error:
        raise UserError(f"received --runner={name}: {error}") from error


def _prepare_dask(options: PipelineOptions) -> None:
    """Makes each block a task of its own (Dask's default is 128) and looks for the scheduler."""
    from apache_beam.runners.dask.dask_runner import DaskOptions

    dask = options.view_as(DaskOptions)
    if not dask.npartitions:
        dask.partition_size = dask.partition_size or 1
    if dask.address:
        _require_answer("--dask_client_address", dask.address)


def _require_answer(flag: str, address: str) -> None:
    """Raises UserError if no service listens at HOST:PORT; Beam would wait for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER).close()
    except (OSError, ValueError) as error:
        raise UserError(
            f"received {flag}={address}, but no service answers there ({error}): "
            "expected the host and port of a running service"
        ) from error


def _quieten() -> None:
    """Silences informational messages of engines and stores, which would break a progress bar."""
    # Beam also raises the errors that it logs.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    for library in ("botocore", "distributed"):
        logging.getLogger(library).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_important)


def _is_important(record: logging.LogRecord) -> bool:
    """Log filter: drops what Beam logs through the root logger, up to the level INFO."""
    return record.levelno > logging.INFO or "apache_beam" not in record.pathname


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
