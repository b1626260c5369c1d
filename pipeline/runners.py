"""Beam's engines. DirectRunner means our choice: FnApiRunner in this process, no download.

Beam's own DirectRunner would first try to fetch the Prism binary from the network; what a user
gets would then depend on the network. Every other name goes to Beam as it is.
"""

import argparse
import logging
import shlex
import socket
import sys
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, PortableOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.runner import PipelineRunner, create_runner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipeline import storage, worker
from pipeline.cli import refuse_unknown
from pipeline.errors import UserError

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
      num_workers: workers of DirectRunner.
      arguments: the command line's arguments which are not ours, so must be Beam's.
      our_flags: names to suggest beside Beam's when an argument is neither's.

    Raises:
      UserError: no such runner, an argument is neither ours nor Beam's, or nobody answers where
        the engine should be.
    """
    _load_runner(runner)  # which may define options of its own
    _refuse_strangers(arguments, our_flags)
    _quieten()
    options = PipelineOptions([*arguments, f"--runner={runner}"])
    options.view_as(DirectOptions).direct_num_workers = num_workers
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
        command = f"{shlex.quote(sys.executable)} -m {worker.__name__}"
        environment = SubprocessSDKEnvironment.from_command_string(command)
    return fn_runner.FnApiRunner(
        environment, provision_info=fn_runner.ExtendedProvisionInfo(information)
    )


def run_to_end(pipeline: beam.Pipeline) -> None:
    """Runs a pipeline and waits for its end."""
    result = pipeline.run()
    try:
        result.wait_until_finish()
    finally:
        if client := getattr(result, "client", None):  # Dask's, which nobody else closes
            client.close()


def _load_runner(name: str) -> PipelineRunner:
    try:
        return create_runner(_FULL_NAMES.get(name, name))
    except ImportError as error:
        raise UserError(
            f"--runner={name} needs what is not installed ({error}): "
            "pip install 'beamformer[dask]' or 'beamformer[gcp]'"
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
        handler.addFilter(_is_no_chatter)


def _is_no_chatter(record: logging.LogRecord) -> bool:
    """Returns whether a record is no information which Beam gives through the root logger."""
    return record.levelno > logging.INFO or "apache_beam" not in record.pathname


def _refuse_strangers(arguments: Sequence[str], our_flags: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for options in PipelineOptions.__subclasses__():
        options._add_argparse_args(parser)
    try:
        given, strangers = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise UserError(f"received an option of Beam's that it refuses: {error}") from error
    if strangers:
        known = [name.lstrip("-") for name in parser._option_string_actions]
        refuse_unknown(strangers[0], [*our_flags, *known])
    if given.direct_num_workers != parser.get_default("direct_num_workers"):
        raise UserError("received --direct_num_workers: expected --num_workers, which sets it")
