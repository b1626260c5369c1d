"""Prism with an external pool of workers.

    python -m tests.integration.engines.prism --work_dir=DIR -- --source_files=… --target_files=…

Prism is on PATH: `go install github.com/apache/beam/sdks/v2/go/cmd/prism@v2.77.0`.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.integration.engines import comparison
from tests.integration.engines.pools import worker_pool


@contextlib.contextmanager
def start(folder: Path) -> Iterator[comparison.Cluster]:
    """Starts a pool of workers; the command itself starts Prism."""
    with worker_pool(folder) as (pool, flags):
        yield comparison.Cluster(["--runner=PrismRunner", *flags], [pool])


if __name__ == "__main__":
    comparison.main(start)
