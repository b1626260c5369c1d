"""Writing while training goes on: one job at a time, in a thread."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from absl import logging


class BackgroundWriter:
    """Runs one job at a time in a thread of its own; its exception is raised by the next call."""

    def __init__(self) -> None:
        """Starts the thread with the first job."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._job: Future[object] | None = None

    def start(self, job: Callable[[], object]) -> None:
        """Starts a job after the one before has ended."""
        self.wait()
        self._job = self._pool.submit(job)

    def check(self) -> None:
        """Raises the exception of a job that failed; does not wait for one in progress."""
        if self._job and self._job.done():
            self.wait()

    def wait(self) -> None:
        """Waits for the job in progress."""
        job, self._job = self._job, None
        if job:
            job.result()

    def close(self) -> None:
        """Waits for the job in progress and ends the thread; only logs if the job fails.

        For use after another error, which matters more.
        """
        self._pool.shutdown()
        error = self._job and self._job.exception()
        if error:
            logging.error("writing failed too: %s", error)
