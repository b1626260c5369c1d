import errno
import threading
from collections.abc import Callable

import pytest

from trainer.runs.background_writer import BackgroundWriter

SECONDS = 60  # after which a wait has failed


def full_disk() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_job_runs_beside_its_caller_and_the_next_waits_for_it() -> None:
    writer, go_on, done = BackgroundWriter(), threading.Event(), []

    def job(number: int) -> None:
        assert go_on.wait(SECONDS)
        done.append(number)

    writer.start(lambda: job(1))
    writer.check()  # does not wait: the job cannot end before the next line
    assert done == []
    threading.Timer(0.1, go_on.set).start()
    writer.start(lambda: job(2))
    assert done[:1] == [1]
    writer.wait()
    assert done == [1, 2]


@pytest.mark.parametrize(
    "call", [BackgroundWriter.wait, lambda writer: writer.start(full_disk)], ids=["wait", "start"]
)
def test_the_next_call_raises_what_a_job_raised_and_only_once(
    call: Callable[[BackgroundWriter], None],
) -> None:
    writer = BackgroundWriter()
    writer.start(full_disk)
    with pytest.raises(OSError, match="No space left"):
        call(writer)
    writer.check()
    writer.wait()


def test_a_check_raises_what_a_job_raised_once_it_has_ended() -> None:
    writer, go_on, ended = BackgroundWriter(), threading.Event(), threading.Event()

    def job() -> None:
        assert go_on.wait(SECONDS)
        full_disk()

    writer.start(job)
    writer.check()
    assert writer._job
    writer._job.add_done_callback(lambda _: ended.set())
    go_on.set()
    assert ended.wait(SECONDS)
    with pytest.raises(OSError, match="No space left"):
        writer.check()


def test_after_another_error_a_job_is_waited_for_and_its_own_error_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    writer, go_on = BackgroundWriter(), threading.Event()

    def job() -> None:
        assert go_on.wait(SECONDS)
        full_disk()

    writer.start(job)
    threading.Timer(0.1, go_on.set).start()
    with caplog.at_level("ERROR", logger="absl"):
        writer.close()
    assert "No space left on device" in caplog.text
