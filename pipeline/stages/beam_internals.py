"""Beam's internals: all that the stages use of Beam beyond its documented interface, in one file.

Beam may change these in any minor release. Hence `requirements.txt` caps Beam at the tested minor
release, and `test_beam_internals.py` checks that each still does what is relied on:

- `FnApiRunner`: Beam's DirectRunner would first try to download the Prism binary, so the engine
  that a user gets would depend on the network.
- `ExtendedProvisionInfo`, `ProvisionInfo`, `JobServiceHandle.encode_pipeline_options`: worker
  processes receive the pipeline options from the provision info alone.
- `SubprocessSDKEnvironment`: the only environment of `FnApiRunner` with worker processes. Beam
  starts their command in a shell, in the process group of this process.
- `sdk_worker_main`: what such a process runs. Ours silences it first, so we call it ourselves.
- The thread named `run_worker`, in which Beam waits for a worker process, and the exit code at the
  end of its RuntimeError: the only signs that a worker died, which Beam itself waits through.
- `PipelineOptions._add_argparse_args`: the names of all options. The public `get_all_options` takes
  a callback that sees Beam's parser, but that parser has `--help` and exits on errors.
"""

import argparse
import shlex
import sys
import threading
from collections.abc import Sequence

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners import PipelineRunner
from apache_beam.runners.portability.fn_api_runner import fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.transforms.environments import SubprocessSDKEnvironment

_WAITING_THREAD = "run_worker"
_INTERRUPTED = (" -2", " -15")  # exit codes of a process that SIGINT or SIGTERM ended


def make_local_runner(
    options: PipelineOptions, worker_command: Sequence[str] | None
) -> PipelineRunner:
    """Returns Beam's runner on this machine.

    Args:
        options: pipeline options, also for worker processes.
        worker_command: starts a worker process, which calls `serve_runner`; without it, this
          process does the work.
    """
    environment = None
    if worker_command:
        # A terminal sends Ctrl-C to workers too. They ignore it, since ending them is the driver's
        # decision, and inherit that through `exec`, so none is ended while it starts.
        command = f"trap '' INT TERM; exec {shlex.join(worker_command)}"
        environment = SubprocessSDKEnvironment.from_command_string(command)
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    information = beam_provision_api_pb2.ProvisionInfo(pipeline_options=encoded)
    return fn_runner.FnApiRunner(
        environment, provision_info=fn_runner.ExtendedProvisionInfo(information)
    )


def serve_runner() -> None:
    """Serves the runner that started this process, until it has no more work."""
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


def is_worker_exit(failure: threading.ExceptHookArgs) -> bool:
    """Returns whether a thread failed because a worker process of the local runner ended."""
    return failure.thread is not None and failure.thread.name == _WAITING_THREAD


def is_interrupt(failure: threading.ExceptHookArgs) -> bool:
    """Returns whether a signal to the process group ended a worker before it ignored signals.

    Args:
        failure: one for which `is_worker_exit` holds.
    """
    return str(failure.exc_value).endswith(_INTERRUPTED)


def add_all_options(parser: argparse.ArgumentParser) -> None:
    """Adds every option of Beam and of the loaded runners to a parser."""
    for options in PipelineOptions.__subclasses__():
        options._add_argparse_args(parser)
