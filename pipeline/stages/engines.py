"""What single engines require of the options: a service, a binary."""

import shutil
import socket
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import (
    PipelineOptions,
    PortableOptions,
    PrismRunnerOptions,
)

from pipeline.common.errors import UserError

PRISM = "PrismRunner"
_INSTALL_PRISM = "go install github.com/apache/beam/sdks/v2/go/cmd/prism@v"
_SECONDS_TO_ANSWER = 10.0


def prepare(runner: str, options: PipelineOptions) -> None:
    """Completes the options of an engine.

    Raises:
        UserError: no service answers at the engine's address, or the engine is not installed.
    """
    endpoint = options.view_as(PortableOptions).job_endpoint
    if endpoint and endpoint != "embed":
        _require_answer("--job_endpoint", endpoint)
    elif runner == PRISM:
        _find_prism(options)


def _find_prism(options: PipelineOptions) -> None:
    """Sets where Prism is: the file given, or the command `prism`; Beam would download one.

    Raises:
        UserError: it is not installed; says how to.
    """
    prism = options.view_as(PrismRunnerOptions)
    path = prism.prism_location or shutil.which("prism")
    if not path:
        raise UserError(
            f"--runner={PRISM} requires Prism: {_INSTALL_PRISM}{beam.__version__}, then put it on "
            "PATH or give --prism_location=FILE"
        )
    if not Path(path).is_file():
        raise UserError(f"received --prism_location={path}: expected a file, Prism's binary")
    prism.prism_location = path


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
