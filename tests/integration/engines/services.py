"""Schedulers, job services and workers as processes of their own, on this machine."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psutil  # type: ignore[import-untyped]

from tests.helpers.commands import REPOSITORY

_SECONDS = 60.0  # suffices for one step on a busy machine
_Value = TypeVar("_Value")


@contextlib.contextmanager
def service(log: Path, *arguments: object) -> Iterator[None]:
    """Runs `python -m …` meanwhile; afterwards neither it nor a child of its is left."""
    python = Path(sys.executable)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # where children look for `python`
    with log.open("wb") as output:
        process = subprocess.Popen(
            [python, "-m", *map(str, arguments)],
            cwd=REPOSITORY,
            env={**os.environ, "PATH": path},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
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


def text_of(path: Path) -> str | None:
    """Returns a file's text, or None as long as there is none."""
    return (path.read_text() if path.exists() else "") or None
