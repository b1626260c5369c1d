"""A Flink cluster: a job manager, two task managers and a pool of Python workers.

    python -m tests.integration.engines.flink --work_dir=DIR -- --source_files=… --target_files=…

Environment variables, of equal versions of Flink:

FLINK_LIB: the folder of Flink's jars, `pyflink/lib` of `pip install apache-flink-libraries`.
BEAM_FLINK_JOB_SERVER: Beam's jar `beam-runners-flink-VERSION-job-server`.
"""

import contextlib
import json
import os
import re
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.integration.engines import comparison
from tests.integration.engines.pools import worker_pool
from tests.integration.engines.services import free_port, program, wait_for

TASK_MANAGERS = 2
_SECONDS_TO_START = 120.0
_MASTER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_WORKER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
# Flink's shell scripts compute these sizes; a plain `java` must be told them.
_SETTINGS = {
    "jobmanager.rpc.address": "localhost",
    "taskmanager.numberOfTaskSlots": "1",
    "taskmanager.cpu.cores": "1",
    "taskmanager.memory.task.heap.size": "256m",
    "taskmanager.memory.task.off-heap.size": "32m",
    "taskmanager.memory.managed.size": "64m",
    "taskmanager.memory.network.min": "64m",
    "taskmanager.memory.network.max": "64m",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "128m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "192m",
    "taskmanager.memory.jvm-overhead.max": "192m",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "1 s",
}
_OPENED = (
    "java.base/java.lang",
    "java.base/java.util",
    "java.base/java.nio",
    "java.base/java.time",
)


@contextlib.contextmanager
def start(folder: Path) -> Iterator[comparison.Cluster]:
    """Starts the cluster; the command itself starts Beam's job server."""
    jar = Path(os.environ["BEAM_FLINK_JOB_SERVER"])
    (version,) = re.findall(r"flink-([\d.]+)-job-server", jar.name)
    with flink(folder) as address, worker_pool(folder) as (pool, flags):
        engine = [
            "--runner=FlinkRunner", f"--flink_version={version}", f"--flink_master={address}",
            f"--flink_job_server_jar={jar}", f"--parallelism={TASK_MANAGERS}",
            f"--sdk_worker_parallelism={TASK_MANAGERS}", f"--artifacts_dir={folder / 'artifacts'}",
        ]  # fmt: skip
        yield comparison.Cluster([*engine, *flags], [pool])


@contextlib.contextmanager
def flink(folder: Path) -> Iterator[str]:
    """Starts a job manager and task managers; yields the address that accepts jobs."""
    address = f"localhost:{free_port()}"
    settings = _SETTINGS | {
        "jobmanager.rpc.port": str(free_port()),
        "rest.port": address.partition(":")[2],
        "io.tmp.dirs": str(folder),
    }
    lines = [f"{name}: {value}\n" for name, value in settings.items()]
    (folder / "config.yaml").write_text("".join(lines))
    with contextlib.ExitStack() as stack:
        stack.enter_context(program(folder / "job-manager.log", *_java(_MASTER, folder)))
        for number in range(TASK_MANAGERS):
            log = folder / f"task-manager-{number}.log"
            stack.enter_context(program(log, *_java(_WORKER, folder)))
        wait_for(lambda: _is_ready(address), "the task managers", seconds=_SECONDS_TO_START)
        yield address


def _java(main: str, folder: Path) -> Sequence[str]:
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    classes = f"{os.environ['FLINK_LIB']}/*"
    return ["java", "-Xmx512m", *opened, "-cp", classes, main, "--configDir", str(folder)]


def _is_ready(address: str) -> bool | None:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{address}/overview") as page:
        return json.load(page)["taskmanagers"] == TASK_MANAGERS or None
    return None


if __name__ == "__main__":
    comparison.main(start)
