from pathlib import Path

from pipeline.build.staging import Staging
from pipeline.common import storage


def test_only_runs_with_the_same_key_share_their_work(tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    first = Staging(output)
    storage.write_atomically(f"{first.raw}/cut.txt", b"of the inputs")
    assert not first.claim({"flag": 1})
    storage.write_atomically(f"{first.folder('pairs')}/block", b"1")
    again = Staging(output)
    assert not again.claim({"flag": 1})
    assert storage.read(f"{again.folder('pairs')}/block") == b"1"
    second = Staging(output)
    assert not second.claim({"flag": 2})
    assert not storage.entries(second.folder("pairs"))
    # A job of the first run that nobody stopped goes on writing.
    storage.write_atomically(f"{again.folder('pairs')}/late", b"1")
    assert not storage.entries(second.folder("pairs"))
    assert storage.read(f"{second.raw}/cut.txt") == b"of the inputs"
