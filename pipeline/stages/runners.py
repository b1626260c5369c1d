"""Beam's engines. DirectRunner means our choice: FnApiRunner in this process, no download.

Beam's own DirectRunner would first try to fetch the Prism binary from the network; what a user
gets would then depend on the network. Every other name goes to Beam as it is.
"""

import argparse
import contextlib
import logging
import os
import re
import shlex
import socket
import sys
import threading
from collections.abc import Iterator, Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    PortableOptions,
    WorkerOptions,
)
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.runner import PipelineRunner, create_runner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipeline.common import storage
from pipeline.common.cli import refuse_unknown
from pipeline.common.errors import UserError
from pipeline.stages import worker

DIRECT = "DirectRunner"
DASK = "DaskRunner"
_FULL_NAMES = {DASK: "apache_beam.runners.dask.dask_runner.DaskRunner"}  # Beam has no short one
_SECONDS_TO_ANSWER = 10.0
_WORKER_THREAD = "run_worker"  # in which Beam waits for a worker process to end
_INTERRUPTED = (" 130", " -2")  # what it says of one that Ctrl-C ended


def make_options(
    runner: str, num_workers: int, arguments: Sequence[str], our_flags: Sequence[str]
) -> PipelineOptions:
    """Returns Beam's options.

    Args:
        runner: name of a Beam runner.
        num_workers: workers of DirectRunner, or what Dataflow starts with.
        arguments: the command line's arguments which are not ours, so must be Beam's.
        our_flags: names to suggest beside Beam's when an argument is neither's.

    Raises:
        UserError: no such runner, an argument is neither ours nor Beam's, or nothing answers where
          the engine should be.
    """
    _load_runner(runner)  # which may define options of its own
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
    """Returns the runner for the options: for DirectRunner, our choice."""
    name = options.get_all_options()["runner"]
    if name != DIRECT:
        return _load_runner(name)
    # Worker processes learn the pipeline options from the provision info alone.
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    information = beam_provision_api_pb2.ProvisionInfo(pipeline_options=encoded)
    environment = None  # blocks are processed in this process
    if options.view_as(DirectOptions).direct_num_workers > 1:
        command = f"exec {shlex.quote(sys.executable)} -m {worker.__name__}"  # no shell between
        environment = SubprocessSDKEnvironment.from_command_string(command)
    return fn_runner.FnApiRunner(
        environment, provision_info=fn_runner.ExtendedProvisionInfo(information)
    )


def run_to_end(pipeline: beam.Pipeline) -> None:
    """Runs a pipeline and waits for its end; an interrupt ends it on its engine too.

    If a worker process of DirectRunner dies, this process ends, with exit code 2.
    """
    with _noticing_dead_workers():
        result = pipeline.run()
    try:
        result.wait_until_finish()
    except KeyboardInterrupt:
        with contextlib.suppress(NotImplementedError):
            result.cancel()
        raise
    finally:
        if client := getattr(result, "client", None):  # Dask's, which nobody else closes
            client.close()


@contextlib.contextmanager
def _noticing_dead_workers() -> Iterator[None]:
    """Ends this process when a worker process dies: Beam would wait for it, and for the others."""

    def notice(failure: threading.ExceptHookArgs) -> None:
        reason = str(failure.exc_value)
        if failure.thread is not None and failure.thread.name == _WORKER_THREAD:
            if reason.endswith(_INTERRUPTED):
                return
            print(
                f"error: a worker process died ({reason}), perhaps for lack of memory: give fewer "
                "--num_workers; running the same command again continues the work",
                file=sys.stderr,
                flush=True,
            )
            os._exit(2)
        if failure.exc_type.__module__ != "grpc":  # which tells of the lost connection
            previous(failure)

    previous, threading.excepthook = threading.excepthook, notice
    try:
        yield
    finally:
        threading.excepthook = previous


def _load_runner(name: str) -> PipelineRunner:
    try:
        return create_runner(_FULL_NAMES.get(name, name))
    except ImportError as error:
        raise UserError(
            f"--runner={name} needs what is not installed ({error}): "
            "pip install 'apache-beam[dask]' or 'apache-beam[gcp]'"
        ) from error
    except (AttributeError, ValueError) as error:
        raise UserError(f"received --runner={name}: {error}") from error


def _prepare_dask(options: PipelineOptions) -> None:
    """Makes a block a task, where Dask would put 128 into one, and looks for the scheduler."""
    from apache_beam.runners.dask.dask_runner import DaskOptions

    dask = options.view_as(DaskOptions)
    if not dask.npartitions:
        dask.partition_size = dask.partition_size or 1
    if dask.address:
        _require_answer("--dask_client_address", dask.address)


def _require_answer(flag: str, address: str) -> None:
    """Raises UserError if nobody listens at HOST:PORT; Beam would wait for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER).close()
    except (OSError, ValueError) as error:
        raise UserError(
            f"received {flag}={address}, but nobody answers there ({error}): "
            "expected the host and port of a running service"
        ) from error


def _quieten() -> None:
    """Silences what engines and stores tell about themselves: it would break a progress bar."""
    # What goes wrong arrives as an exception with its traceback; logged, it would come twice.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    for library in ("botocore", "distributed"):
        logging.getLogger(library).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_important)


def _is_important(record: logging.LogRecord) -> bool:
    """Returns whether a record is more than information that Beam logs through the root logger."""
    return record.levelno > logging.INFO or "apache_beam" not in record.pathname


def _reject_unknown_options(arguments: Sequence[str], our_flags: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for options in PipelineOptions.__subclasses__():
        options._add_argparse_args(parser)
    try:
        known_values, unknown = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise UserError(f"received an option of Beam's that it refuses: {error}") from error
    if unknown:
        refuse_unknown(unknown[0], [*our_flags, *_option_names(parser)])
    if known_values.direct_num_workers != parser.get_default("direct_num_workers"):
        raise UserError("received --direct_num_workers: expected --num_workers, which sets it")


def _option_names(parser: argparse.ArgumentParser) -> list[str]:
    """Returns the names of all options, read from the help: argparse has no public list."""
    options = re.findall(r"^  (--.*)$", parser.format_help(), re.MULTILINE)
    return [name for line in options for name in re.findall(r"--([\w-]+)", line)]
