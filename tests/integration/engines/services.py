"""Schedulers, job services and workers as processes of their own, on this machine."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import psutil  # type: ignore[import-untyped]

from tests.helpers.commands import REPOSITORY

_SECONDS = 60.0  # suffices for one step on a busy machine
_Value = TypeVar("_Value")


def service(log: Path, *arguments: object) -> contextlib.AbstractContextManager[int]:
    """Runs `python -m …` meanwhile; see `program`."""
    return program(log, sys.executable, "-m", *arguments)


@contextlib.contextmanager
def program(
    log: Path, *command: object, variables: Mapping[str, str] | None = None
) -> Iterator[int]:
    """Runs a command meanwhile; afterwards neither it nor a child of its is left.

    Args:
        log: receives what it prints.
        command: the program and its arguments.
        variables: additional environment variables.

    Yields:
        its process id.
    """
    python = Path(sys.executable)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # where children look for `python`
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=REPOSITORY,
            env={**os.environ, "PATH": path, **(variables or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(find: Callable[[], _Value | None], what: str, *, seconds: float = _SECONDS) -> _Value:
    """Polls `find` until it returns something other than None, and returns that.

    Raises:
        TimeoutError: after `seconds`; names `what`.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = find()
        if value is not None:
            return value
        time.sleep(0.05)
    raise TimeoutError(f"waited {seconds} s for {what}")


def running_with(mark: str) -> list[int]:
    """Returns the processes that have a text in their environment variable MARK."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if mark in process.environ().get("MARK", ""):
                processes.append(process.pid)
    return processes


def children(pids: list[int]) -> list[int]:
    """Returns the processes that processes have started, oldest first."""
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            found += [(child.create_time(), child.pid) for child in psutil.Process(pid).children()]
    return [pid for _, pid in sorted(found)]


def free_port() -> int:
    """Returns a port of this machine on which nothing listens."""
    with socket.create_server(("localhost", 0)) as server:
        return server.getsockname()[1]


def answers(port: int) -> bool | None:
    """Returns True if something listens on a port of this machine, otherwise None."""
    try:
        socket.create_connection(("localhost", port), 1).close()
    except OSError:
        return None
    return True


def text_of(path: Path) -> str | None:
    """Returns a file's text, or None as long as there is none."""
    return (path.read_text() if path.exists() else "") or None
