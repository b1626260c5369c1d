"""A Spark cluster: a master, two workers and a pool of Python workers.

    python -m tests.integration.engines.spark --work_dir=DIR -- --source_files=… --target_files=…

Environment variables:

SPARK_HOME: the folder with Spark's `bin` and `jars`, `pyspark` of `pip install 'pyspark==3.5.*'`.
BEAM_SPARK_JOB_SERVER: Beam's jar `beam-runners-spark-3-job-server`.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests.integration.engines import comparison
from tests.integration.engines.pools import worker_pool
from tests.integration.engines.services import free_port, program, wait_for

WORKERS = 2
_SECONDS_TO_START = 120.0
_DEPLOY = "org.apache.spark.deploy"


@contextlib.contextmanager
def start(folder: Path) -> Iterator[comparison.Cluster]:
    """Starts the cluster; the command itself starts Beam's job server."""
    with spark(folder) as address, worker_pool(folder) as (pool, flags):
        engine = [
            "--runner=SparkRunner", f"--spark_master_url={address}",
            f"--spark_job_server_jar={os.environ['BEAM_SPARK_JOB_SERVER']}",
            f"--artifacts_dir={folder / 'artifacts'}",
        ]  # fmt: skip
        yield comparison.Cluster([*engine, *flags], [pool])


@contextlib.contextmanager
def spark(folder: Path) -> Iterator[str]:
    """Starts a master and workers; yields the address that accepts jobs."""
    port = free_port()
    address = f"spark://localhost:{port}"
    home = Path(os.environ["SPARK_HOME"])
    variables = {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "512m"}
    variables |= {"SPARK_WORKER_DIR": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"}
    log = folder / "master.log"
    everywhere = ["--host", "localhost", "--webui-port", "0"]

    def run(name: str, *options: object) -> contextlib.AbstractContextManager[int]:
        command = [home / "bin" / "spark-class", f"{_DEPLOY}.{name.split('-')[0]}", *options]
        return program(folder / f"{name}.log", *command, *everywhere, variables=variables)

    with contextlib.ExitStack() as stack:
        stack.enter_context(run("master.Master", "--port", port))
        for number in range(WORKERS):
            limits = ["--cores", 1, "--memory", "1g"]
            stack.enter_context(run(f"worker.Worker-{number}", *limits, address))
        log = folder / "master.Master.log"
        wait_for(lambda: _is_ready(log), "the workers", seconds=_SECONDS_TO_START)
        yield address


def _is_ready(log: Path) -> bool | None:
    return len(re.findall("Registering worker", log.read_text())) == WORKERS or None


if __name__ == "__main__":
    comparison.main(start)
