"""DirectRunner's workers as threads, which Beam calls its running mode."""

from pathlib import Path

from pipeline.build.driver import build_dataset
from pipeline.stages.beam_pipeline import BeamMapper
from pipeline.stages.runners import make_options
from tests.helpers.preprocessing import build, configure, contents


def test_threads_write_the_same_bytes(tmp_path: Path) -> None:
    threads = make_options("DirectRunner", 3, ["--direct_running_mode=multi_threading"], [])
    dataset = build_dataset(configure(tmp_path, "threads"), BeamMapper(threads))
    whole = build(configure(tmp_path, "direct"))
    assert contents(dataset.directory) == contents(whole.directory)
