"""Runs the project's commands: within this process, or as a user does, in one of their own.

Most tests call a command within their process, which spares the start of Python, TensorFlow or
Beam. A test of signals, of exit codes as a shell sees them, or of what C++ code prints needs a
process.
"""

import contextlib
import io
import logging as standard_logging
import os
import runpy
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from absl import flags, logging
from absl.testing import flagsaver

from pipeline.common import flag_help

REPOSITORY = Path(__file__).resolve().parents[2]
TIMEOUT = 300  # seconds


def call(
    module: str, *arguments: object, stdin: str = "", cwd: Path = REPOSITORY
) -> subprocess.CompletedProcess[str]:
    """Runs `python -m module …` within this process: the same code, its `__main__` block included.

    Returns:
        the exit code and what it printed.
    """
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    command = [module, *map(str, arguments)]
    with _as_started(command, stdin, cwd, output, errors):
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    printed = []
    for stream in (output, errors):
        stream.flush()
        printed.append(stream.buffer.getvalue().decode())
    return subprocess.CompletedProcess(command, code, *printed)


def succeed(module: str, *arguments: object, stdin: str = "", cwd: Path = REPOSITORY) -> str:
    """Runs `python -m module …` within this process and returns its standard output.

    Requires exit code 0.
    """
    result = call(module, *arguments, stdin=stdin, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refuse(module: str, *arguments: object) -> str:
    """Runs `python -m module …` within this process and returns its one-line error.

    Requires exit code 2 and nothing else on standard error.
    """
    return one_line_error(call(module, *arguments))


def one_line_error(result: subprocess.CompletedProcess[str]) -> str:
    """Returns the line with which a command refused, and requires exit code 2."""
    assert result.returncode == 2, (result.returncode, result.stderr)
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


def start(
    *arguments: object, cwd: Path = REPOSITORY, variables: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts the process `python …` with text pipes and additional environment variables."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **(variables or {})}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)  # as users have it: unset
    with _interruptible():
        return subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=cwd,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def run_process(
    *arguments: object, cwd: Path = REPOSITORY, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs the process `python …` to its end; returns its exit code and what it printed."""
    process = start(*arguments, cwd=cwd)
    stdout, stderr = process.communicate(stdin, timeout=TIMEOUT)
    command = [str(argument) for argument in arguments]
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Lets processes receive SIGINT, which they inherit as ignored if tests run under nohup."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _as_started(
    command: list[str],
    stdin: str,
    cwd: Path,
    output: io.TextIOWrapper,
    errors: io.TextIOWrapper,
) -> Iterator[None]:
    """Gives a command arguments, streams, folder, flags and environment variables of its own."""
    log = logging.get_absl_handler().python_handler
    log_stream = log.setStream(errors)
    disabled = standard_logging.root.manager.disable
    try:
        with (
            _own_flags(),
            mock.patch.dict(os.environ),
            mock.patch.object(sys, "argv", command),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")),
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", ".* found in sys.modules", RuntimeWarning, "runpy")
            yield
    finally:
        standard_logging.disable(disabled)
        log.setStream(log_stream or sys.stderr)


@contextlib.contextmanager
def _own_flags() -> Iterator[None]:
    """Removes the flags that a command defines; resets the flags of libraries."""
    before = flagsaver.save_flag_values()
    flags.FLAGS["verbosity"].unparse()  # which earlier tests may have set
    try:
        yield
    finally:
        for name in flag_help.our_flags(flags.FLAGS):
            delattr(flags.FLAGS, name)
        modules = flags.FLAGS.flags_by_module_dict()
        for name in [name for name, defined in modules.items() if not defined]:
            del modules[name]  # else the next command's --help would name it
        flagsaver.restore_flag_values({**flagsaver.save_flag_values(), **before})
