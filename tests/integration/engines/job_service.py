"""Beam's local job service with two workers to a job, where it has one by default.

python -m tests.integration.engines.job_service --port_file=FILE
"""

import sys

from apache_beam.runners.portability import local_job_service_main
from apache_beam.runners.portability.fn_api_runner import fn_runner

WORKERS = 2


class _Runner(fn_runner.FnApiRunner):
    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self._num_workers = WORKERS


if __name__ == "__main__":
    fn_runner.FnApiRunner = _Runner
    local_job_service_main.run(sys.argv[1:])
