import os
import signal
import subprocess
import sys
import threading

import pytest

from pipeline.common.signals import exiting_at_once, raising_interrupts

# A thread that does not end, a lock that the main thread waits for, and a redirected stderr.
STUCK = (
    "import os, signal, threading\n"
    "from pipeline.common.signals import exiting_at_once\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "forever = threading.Event()\n"
    "threading.Thread(target=forever.wait).start()\n"
    "with exiting_at_once('interrupted; go on'):\n"
    "    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)\n"
    "    threading.Timer(0.1, os.kill, (os.getpid(), {number})).start()\n"
    "    forever.wait()\n"
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_process_whose_threads_do_not_end(number: int, code: int) -> None:
    command = [sys.executable, "-c", STUCK.format(number=int(number))]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr == "error: interrupted; go on\n"


def test_an_ignored_signal_stays_ignored_and_handlers_are_restored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    try:
        with exiting_at_once("interrupted"):
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in before
    finally:
        signal.signal(signal.SIGINT, before[0])
    assert signal.getsignal(signal.SIGTERM) == before[1]


def test_an_interrupt_may_be_raised_inside() -> None:
    with exiting_at_once("interrupted"), raising_interrupts(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_another_thread_leaves_signals_alone() -> None:
    handlers = []

    def run() -> None:
        with exiting_at_once("interrupted"):
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGTERM)]
