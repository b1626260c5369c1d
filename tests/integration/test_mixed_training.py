"""`trainer.task` on a mixture: killed and resumed, refused, reported."""

import json
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.commands import call, refuse, start
from tests.helpers.tiny_run import STEPS, figures, training_flags, weights

SHARES = ("train/target_share/data", "train/target_share/more")


@pytest.fixture
def mixture(text_dataset: Path, tmp_path: Path) -> tuple[str, str]:
    """The flags of a dataset and a copy: 3 in 4 tokens from the first."""
    more = shutil.copytree(text_dataset, tmp_path / "more")
    return f"--dataset_dir={text_dataset},{more}", "--dataset_weights=3,1"


def shares(run_dir: Path) -> list[list[float]]:
    rows = map(json.loads, (run_dir / "metrics.jsonl").read_text().splitlines())
    return [[row[name] for name in SHARES] for row in rows if SHARES[0] in row]


@pytest.mark.heavy
def test_a_mixed_run_killed_at_a_step_resumes_to_the_same_bits(
    text_dataset: Path, tmp_path: Path, mixture: tuple[str, str]
) -> None:
    whole, killed = (
        training_flags(text_dataset, tmp_path / name, *mixture, "--eval_every_steps=0")
        for name in ("whole", "killed")
    )
    result = call("trainer.task", *whole)
    assert result.returncode == 0, result.stderr
    assert "data 75.00% (3.00 passes an epoch)" in result.stderr
    assert "more 25.00% (1.00 passes an epoch)" in result.stderr
    process = start("-m", "trainer.task", *killed)
    metrics = tmp_path / "killed" / "metrics.jsonl"
    while not (metrics.exists() and b'{"step": 7,' in metrics.read_bytes()):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "killed" / "train.json").exists()
    assert call("trainer.task", *killed).returncode == 0
    resumed, uninterrupted = weights(tmp_path / "killed"), weights(tmp_path / "whole")
    assert resumed.keys() == uninterrupted.keys()
    for name in uninterrupted:
        np.testing.assert_array_equal(resumed[name], uninterrupted[name], err_msg=name)
    assert figures(tmp_path / "killed") == figures(tmp_path / "whole")
    assert shares(tmp_path / "killed") == shares(tmp_path / "whole")
    assert len(shares(tmp_path / "whole")) == STEPS
    line = refuse("trainer.task", *killed, "--dataset_weights=1,1")
    assert "--dataset_weights was ('3', '1'), now ('1', '1')" in line


def test_a_wrong_number_of_weights_is_refused(
    text_dataset: Path, tmp_path: Path, mixture: tuple[str, str]
) -> None:
    flags = training_flags(text_dataset, tmp_path / "run", *mixture, "--dataset_weights=3")
    assert "expected 2 weight(s), one for each dataset" in refuse("trainer.task", *flags)
