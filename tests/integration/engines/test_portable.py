"""A portable job service, whose workers an external worker pool starts: five kinds of process."""

import re
from pathlib import Path

import pytest

from tests.helpers.commands import run_process
from tests.helpers.preprocessing import build, configure, contents, preprocess_flags
from tests.integration.engines import job_service
from tests.integration.engines.services import service, text_of, wait_for


@pytest.mark.heavy
def test_external_workers_of_a_job_service_write_the_same_bytes(tmp_path: Path) -> None:
    port_file, pool_log = tmp_path / "port", tmp_path / "pool.log"
    config = configure(tmp_path, "portable")
    jobs = [job_service.__name__, f"--port_file={port_file}", f"--staging_dir={tmp_path / 'jobs'}"]
    pool = ["apache_beam.runners.worker.worker_pool_main", "--service_port=0"]
    with service(tmp_path / "jobs.log", *jobs), service(pool_log, *pool):
        port = wait_for(lambda: text_of(port_file), "the job service")
        where = wait_for(lambda: re.search(r"at port: (\S+)", pool_log.read_text()), "the pool")
        arguments = preprocess_flags(
            config,
            runner="PortableRunner",
            job_endpoint=f"localhost:{port}",
            environment_type="EXTERNAL",
            environment_config=where[1],
        )
        result = run_process("-m", "pipeline.preprocess", *arguments)
        assert result.returncode == 0, result.stderr
    started = re.findall(r'worker_id="(\w+)"', pool_log.read_text())
    assert len(set(started)) == job_service.WORKERS
    assert contents(config.output_dir) == contents(build(configure(tmp_path, "direct")).directory)
