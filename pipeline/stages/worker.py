"""A worker process of DirectRunner: Beam's own, without its chatter about start and stop.

    python -m pipeline.stages.worker

is started by `runners`; errors still come through.
"""

import logging
import os
import sys
import threading
import time

_SECONDS_BETWEEN_LOOKS = 1.0


def main() -> None:
    """Serves the runner that started this process until it has no more work, or is gone."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    logging.disable(logging.WARNING)  # before the import, which already has something to say
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


def _end_with(parent: int) -> None:
    """Ends this process when its parent has ended; Beam's worker may wait for it forever."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)


if __name__ == "__main__":
    main()
