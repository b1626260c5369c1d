"""A worker process of DirectRunner: Beam's own, which leaves all messages to the runner.

    python -m pipeline.stages.worker PARENT

`runners` starts it, with the process id of the runner. The runner raises what fails in a worker, so
tracebacks are not printed a second time.
"""

import contextlib
import logging
import os
import sys
import threading
import time

_SECONDS_BETWEEN_CHECKS = 0.1


def command() -> list[str]:
    """Returns the command that starts a worker of this process."""
    return [sys.executable, "-m", __name__, str(os.getpid())]


def main(parent: int) -> None:
    """Serves the runner in process `parent` until it has no more work or ends."""
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()
    logging.disable()
    with contextlib.redirect_stderr(os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")):
        try:
            from pipeline.stages import beam_internals  # which already logs

            beam_internals.serve_runner()
        except Exception:
            time.sleep(2 * _SECONDS_BETWEEN_CHECKS)  # enough to end, if the runner has ended
            raise


def _exit_with(parent: int) -> None:
    """Ends this process when its parent has ended; Beam's worker might wait for it forever."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_CHECKS)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
