"""A worker process of DirectRunner: Beam's own, with informational messages silenced.

    python -m pipeline.stages.worker

`runners` starts it. Errors are still reported.
"""

import logging
import os
import threading
import time

_SECONDS_BETWEEN_CHECKS = 1.0


def main() -> None:
    """Serves the runner that started this process until it has no more work or ends."""
    threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()
    logging.disable(logging.WARNING)  # before the import of Beam, which already logs
    from pipeline.stages import beam_internals

    beam_internals.serve_runner()


def _exit_with_parent(parent: int) -> None:
    """Ends this process when its parent has ended; Beam's worker might wait for it forever."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_CHECKS)
    os._exit(1)


if __name__ == "__main__":
    main()
