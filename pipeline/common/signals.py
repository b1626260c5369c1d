"""What Ctrl-C and SIGTERM do to a process whose work the same command continues."""

import contextlib
import functools
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def exiting_at_once(message: str) -> Iterator[None]:
    """Makes SIGINT and SIGTERM end the process at once: one line, exit code 130 or 143.

    Nothing is unwound and no thread is waited for, since threads of an engine may wait forever for
    workers that are gone. Hence only for work that a kill cannot harm. A signal that the process
    ignores stays ignored, as SIGINT in a background job of a shell.

    Args:
        message: the line on standard error, after "error: ".
    """
    stderr = os.dup(2)  # which may be redirected when a signal comes
    try:
        handler = functools.partial(_exit, message, stderr)
        with _handling((signal.SIGINT, signal.SIGTERM), handler):
            yield
    finally:
        os.close(stderr)


@contextlib.contextmanager
def raising_interrupts() -> Iterator[None]:
    """Makes SIGINT raise KeyboardInterrupt, also within `exiting_at_once`."""
    with _handling((signal.SIGINT,), signal.default_int_handler):
        yield


@contextlib.contextmanager
def _handling(numbers: tuple[signal.Signals, ...], handler: Any) -> Iterator[None]:
    """Handles signals; without effect outside the main thread, which alone may do so."""
    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in previous.items():
            signal.signal(number, earlier)


def _exit(message: str, stderr: int, number: int, _: FrameType | None) -> None:
    # The signal may interrupt a write to `sys.stderr`, which is not reentrant.
    after_bar = "\n" if os.isatty(stderr) else ""  # an unfinished progress bar
    os.write(stderr, f"{after_bar}error: {message}\n".encode())
    os._exit(128 + number)
