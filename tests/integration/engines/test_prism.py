"""Prism, whose binary is installed: a worker killed in the middle changes no byte."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.preprocessing import configure, make_corpus, preprocess_flags
from tests.integration.engines import prism
from tests.integration.engines.comparison import compare

PAIRS = 4000  # enough for some blocks to be unfinished when a worker is killed


@pytest.mark.heavy
@pytest.mark.skipif(not shutil.which("prism"), reason="needs Prism on PATH: pipeline/README.md")
def test_a_worker_killed_in_the_middle_changes_no_byte(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "many", PAIRS)
    flags = preprocess_flags(configure(tmp_path, "any", **corpus))
    result = compare(prism.start, [f for f in flags if "output_dir" not in f], tmp_path / "work")
    assert result.differences == [] and result.files > 5
    assert 0 < result.killed_after < PAIRS // 100
    printed = (tmp_path / "work" / "attempt-1" / "command.log").read_text()
    assert printed.splitlines()[-1].startswith("error: the job failed: Pipeline job-001 failed")
    assert "Traceback" not in printed
