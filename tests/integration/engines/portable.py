"""Beam's own portable job service, with an external pool of workers.

python -m tests.integration.engines.portable --work_dir=DIR -- --source_files=… --target_files=…
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.integration.engines import comparison, job_service
from tests.integration.engines.pools import worker_pool
from tests.integration.engines.services import service, text_of, wait_for


@contextlib.contextmanager
def start(folder: Path) -> Iterator[comparison.Cluster]:
    """Starts the job service and a pool of workers."""
    port_file = folder / "port"
    jobs = [job_service.__name__, f"--port_file={port_file}", f"--staging_dir={folder / 'jobs'}"]
    with worker_pool(folder) as (pool, flags), service(folder / "jobs.log", *jobs):
        port = wait_for(lambda: text_of(port_file), "the job service")
        endpoint = f"--job_endpoint=localhost:{port}"
        yield comparison.Cluster(["--runner=PortableRunner", endpoint, *flags], [pool])


if __name__ == "__main__":
    comparison.main(start)
