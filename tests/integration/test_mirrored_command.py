"""The training command on several devices, by the strategy that users of several GPUs get."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.commands import run_process, succeed
from tests.helpers.tiny_run import training_flags

PARTS = 4  # of each batch: replicas × accumulation
# Adam divides by the gradient's size: with the paper's ε, rounding errors would decide the sign.
SETTINGS = ["--dropout=0", "--adam_epsilon=1e-3", "--checkpoint_every_steps=2"]
SETTINGS += ["--eval_every_steps=3", "--average_checkpoints=2"]
STEPS, STOP = 6, 4


def flags(dataset: Path, run_dir: Path, *, replicas: int, steps: int = STEPS) -> list[str]:
    accumulation = f"--gradient_accumulation={PARTS // replicas}"
    return training_flags(dataset, run_dir, *SETTINGS, accumulation, f"--train_steps={steps}")


def rows(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(row) for row in (run_dir / "metrics.jsonl").read_text().splitlines()]


def weights(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "weights.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def one_device(text_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of one device that computes the same batches in parts."""
    run_dir = tmp_path_factory.mktemp("one_device") / "run"
    succeed("trainer.task", *flags(text_dataset, run_dir, replicas=1))
    return run_dir


@pytest.mark.heavy
@pytest.mark.parametrize("replicas", [2, 4])
def test_devices_with_their_own_collectives_make_the_run_of_one(
    text_dataset: Path, one_device: Path, tmp_path: Path, replicas: int
) -> None:
    """Trains, evaluates, saves, resumes and averages."""
    run_dir = tmp_path / "run"
    command = ("-m", "tests.helpers.virtual_devices", replicas, "trainer.task")
    for steps in (STOP, STEPS):
        result = run_process(
            *command, *flags(text_dataset, run_dir, replicas=replicas, steps=steps)
        )
        assert result.returncode == 0, result.stderr
        assert f"{replicas} GPU(s)" in result.stderr
    expected = [row for row in rows(one_device) if "train/nll" in row]
    trained = [row for row in rows(run_dir) if "train/nll" in row]
    assert [row["step"] for row in trained] == list(range(1, STEPS + 1))
    for row, of_one in zip(trained, expected, strict=True):
        for name in ("train/loss", "train/nll", "train/gradient_norm"):
            assert row[name] == pytest.approx(of_one[name], rel=1e-4), (row["step"], name)
    results = [json.loads((folder / "train.json").read_text()) for folder in (run_dir, one_device)]
    assert results[0]["averaged_steps"] == results[1]["averaged_steps"] == [STOP, STEPS]
    assert results[0]["dev_perplexity"] == pytest.approx(results[1]["dev_perplexity"], rel=1e-4)
    for name, values in weights(one_device / "averaged").items():
        np.testing.assert_allclose(weights(run_dir / "averaged")[name], values, atol=1e-4)
