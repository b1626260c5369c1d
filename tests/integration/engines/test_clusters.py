"""Flink and Spark, where their jars are: a worker killed in the middle changes no byte."""

import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.preprocessing import configure, make_corpus, preprocess_flags
from tests.integration.engines import flink, spark
from tests.integration.engines.comparison import compare

PAIRS = 4000  # enough for some blocks to be unfinished when a worker is killed


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("cluster", "variables"),
    [
        (flink, ["FLINK_LIB", "BEAM_FLINK_JOB_SERVER"]),
        (spark, ["SPARK_HOME", "BEAM_SPARK_JOB_SERVER"]),
    ],
)
def test_a_worker_killed_in_the_middle_changes_no_byte(
    tmp_path: Path, cluster: ModuleType, variables: list[str]
) -> None:
    missing = [name for name in variables if name not in os.environ]
    if missing or not shutil.which("java"):
        pytest.skip(f"needs Java and {', '.join(missing)}: {cluster.__name__} says of what")
    corpus = make_corpus(tmp_path / "many", PAIRS)
    flags = preprocess_flags(configure(tmp_path, "any", **corpus))
    result = compare(cluster.start, [f for f in flags if "output_dir" not in f], tmp_path / "work")
    assert result.differences == [] and result.files > 5
    assert 0 < result.killed_after < PAIRS // 100
