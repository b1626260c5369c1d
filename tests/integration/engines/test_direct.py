"""DirectRunner's workers as threads, which Beam calls its running mode."""

from pathlib import Path

from tests.helpers.preprocessing import build, build_with_beam, configure, contents


def test_threads_write_the_same_bytes(tmp_path: Path) -> None:
    config = configure(tmp_path, "threads", num_workers=3)
    dataset = build_with_beam(config, "--direct_running_mode=multi_threading")
    whole = build(configure(tmp_path, "direct"))
    assert contents(dataset.directory) == contents(whole.directory)
