"""A Dask cluster: a scheduler and two workers, one of which is killed in the middle of a stage."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.stages.runners import make_options
from tests.helpers.commands import start
from tests.helpers.preprocessing import build, configure, contents, preprocess_flags
from tests.integration.engines.services import service, text_of, wait_for

pytest.importorskip("distributed", reason="needs Dask: pip install '.[dask]'")


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """Runs a scheduler and workers, each with one thread; yields the scheduler's address."""
    place = folder / "scheduler.json"
    quiet = ["--no-dashboard", "--scheduler-file", place]
    with contextlib.ExitStack() as stack:
        local = ["--host", "127.0.0.1", "--port", 0]
        scheduler = ["distributed.cli.dask_scheduler", *local, *quiet]
        stack.enter_context(service(folder / "scheduler.log", *scheduler))
        description = wait_for(lambda: text_of(place), "the scheduler")
        for number in range(workers):
            options = ["--no-nanny", "--nthreads", 1, "--local-directory", folder / "spill"]
            options += ["--preload", "tests.integration.engines.ambush"]
            worker = ["distributed.cli.dask_worker", *quiet, *options]
            stack.enter_context(service(folder / f"worker-{number}.log", *worker))
        yield json.loads(description)["address"]


@pytest.mark.heavy
def test_a_worker_killed_in_the_middle_changes_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ambush = tmp_path / "ambush"
    monkeypatch.setenv("AMBUSH", str(ambush))
    config = configure(tmp_path, "dask")
    with cluster(tmp_path, workers=2) as address:
        arguments = preprocess_flags(config, runner="DaskRunner", dask_client_address=address)
        process = start("-m", "pipeline.preprocess", *arguments)
        try:
            victim = wait_for(lambda: text_of(ambush), "a worker in the middle of a stage")
            (reports,) = (tmp_path / "dask/.staging").glob("*/done/EncodePairs")
            assert not (reports / "train-00002.json").exists()
            os.kill(int(victim), signal.SIGKILL)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, error
    assert contents(config.output_dir) == contents(build(configure(tmp_path, "direct")).directory)


@pytest.mark.parametrize(
    ("arguments", "size"),
    [([], 1), (["--dask_partition_size=7"], 7), (["--dask_npartitions=3"], None)],
)
def test_a_block_is_a_task_unless_asked_otherwise(arguments: list[str], size: int | None) -> None:
    options = make_options("DaskRunner", 1, arguments, []).get_all_options()
    assert options["partition_size"] == size
