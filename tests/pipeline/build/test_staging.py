import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.build.staging import FOLDER, Staging, open_staging
from pipeline.common import lock, storage
from pipeline.common.errors import ResumableError, UserError
from pipeline.dataset.schema import COMPLETED
from tests.helpers.object_store import objects


def test_only_runs_with_the_same_key_share_their_work(tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    first = Staging(output)
    storage.write_atomically(f"{first.raw}/cut.txt", b"of the inputs")
    first.claim({"flag": 1})
    storage.write_atomically(f"{first.work}/block", b"1")
    again = Staging(output)
    again.claim({"flag": 1})
    assert storage.read(f"{again.work}/block") == b"1"
    second = Staging(output)
    second.claim({"flag": 2})
    assert storage.entries(second.work) == {"key.json"}
    # A job of the first run that nobody stopped goes on writing.
    storage.make_folder(again.work)
    storage.write_atomically(f"{again.work}/late", b"1")
    assert storage.entries(second.work) == {"key.json"}
    assert storage.read(f"{second.raw}/cut.txt") == b"of the inputs"


def fail(error: Exception, output: str, *, after_claim: bool) -> None:
    """Opens the staging folder as a run does that ends with this error."""
    with pytest.raises(type(error)), open_staging(output) as staging:
        if after_claim:
            staging.claim({"flag": 1})
            storage.write_atomically(f"{staging.work}/block", b"1")
        raise error


@pytest.mark.parametrize("existing", ["", "data", "data/out"])
@pytest.mark.parametrize(
    ("error", "after_claim"),
    [
        (UserError("no file x"), False),
        (PermissionError(13, "Permission denied", "train.en"), False),
        (UserError("the vocabulary is too large"), True),
    ],
)
def test_a_mistake_in_the_first_run_leaves_the_folders_that_were_there(
    tmp_path: Path, existing: str, error: Exception, after_claim: bool
) -> None:
    (tmp_path / existing).mkdir(parents=True, exist_ok=True)
    before = sorted(tmp_path.rglob("*"))
    fail(error, str(tmp_path / "data/out"), after_claim=after_claim)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "error", [ResumableError("full"), OSError(28, "No space left on device"), ZeroDivisionError()]
)
def test_other_failures_leave_the_work_and_so_does_a_mistake_after_them(
    tmp_path: Path, error: Exception
) -> None:
    output = str(tmp_path / "out")
    fail(error, output, after_claim=True)
    fail(UserError("no file x"), output, after_claim=False)
    with open_staging(output) as staging:
        staging.claim({"flag": 1})
        assert storage.read(f"{staging.work}/block") == b"1"
    assert storage.entries(output) == {FOLDER}  # the lock is open again


def test_a_mistake_leaves_nothing_in_a_store_which_has_no_lock() -> None:
    output = "mem://bucket/out"
    with open_staging(output), open_staging(output):
        pass
    fail(UserError("too large"), output, after_claim=True)
    assert objects(output) == {}


def test_only_one_process_preprocesses_into_a_directory(tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    expected = f"another process is preprocessing in {output}: wait .* another --output_dir"
    with open_staging(output) as staging:
        storage.write_atomically(f"{staging.raw}/cut.txt", b"of the inputs")
        with pytest.raises(UserError, match=expected), open_staging(output):
            pass
        assert storage.read(f"{staging.raw}/cut.txt") == b"of the inputs"
    with open_staging(output):
        pass


def test_a_directory_that_another_process_completes_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = str(tmp_path / "out")

    @contextlib.contextmanager
    def lock_after_the_other(folder: str, **_: str) -> Iterator[None]:
        storage.delete(f"{folder}/{FOLDER}")
        storage.write_atomically(f"{folder}/{COMPLETED}", b"")
        yield

    with open_staging(output):
        pass
    monkeypatch.setattr(lock, "lock_folder", lock_after_the_other)
    with pytest.raises(UserError), open_staging(output):
        pass
    assert storage.entries(output) == {COMPLETED}
