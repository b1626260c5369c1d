"""A worker process of DirectRunner: Beam's own, without its chatter about start and stop.

    python -m pipeline.worker

is started by `runners`; errors still come through.
"""

import logging
import sys


def main() -> None:
    """Serves the runner that started this process until it has no more work."""
    logging.disable(logging.WARNING)  # before the import, which already has something to say
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
