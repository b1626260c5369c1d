import errno
import fcntl
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from pipeline.common import lock
from pipeline.common.errors import UserError

HOLDER = (
    "import sys, time\n"
    "from pipeline.common import lock\n"
    "with lock.lock_folder(sys.argv[1], work='baking', remedy='go'):\n"
    "    print('locked', flush=True)\n"
    "    time.sleep(600)\n"
)
BUSY = "another process is baking in .*: wait for it, stop it, or bake elsewhere"


def bake(folder: Path) -> None:
    with lock.lock_folder(folder, work="baking", remedy="bake elsewhere"):
        pass


def test_a_folder_is_free_once_its_process_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout and holder.stdout.readline() == "locked\n"
            with pytest.raises(UserError, match=BUSY):
                bake(tmp_path)
        finally:
            holder.kill()
    bake(tmp_path)


def test_a_lock_whose_file_its_holder_deletes_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_and_take(*_: object) -> None:
        (tmp_path / lock.FILE_NAME).unlink()
        (tmp_path / lock.FILE_NAME).touch()  # by a third process

    monkeypatch.setattr(fcntl, "flock", end_and_take)
    with pytest.raises(UserError, match=BUSY):
        bake(tmp_path)


def test_a_file_system_without_locks_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_locks = mock.Mock(side_effect=OSError(errno.ENOLCK, "No locks available"))
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with mock.patch("pipeline.common.lock.logging.warning") as warning:
        bake(tmp_path)
    warning.assert_called_once()
