"""Pools of Python workers, as they run beside the task managers of a cluster."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.integration.engines.services import answers, free_port, service, wait_for


@contextlib.contextmanager
def worker_pool(folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Starts a pool of workers; yields its process and the flags that name it."""
    port = free_port()
    module = "apache_beam.runners.worker.worker_pool_main"
    with service(folder / "pool.log", module, f"--service_port={port}") as pool:
        wait_for(lambda: answers(port), "the pool of workers")
        yield pool, ["--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"]
