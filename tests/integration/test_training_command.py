"""`trainer.task` from an empty directory to a finished run: killed, resumed, refused."""

import json
import random
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tensorflow.python.framework.config import disable_op_determinism, is_op_determinism_enabled

from tests.helpers.commands import REPOSITORY, call, refuse, start, succeed
from tests.helpers.tiny_run import STEPS, figures, training_flags, weights
from trainer.training import finalize


def test_training_learns_and_writes_the_files_the_readme_lists(trained: Path) -> None:
    rows = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    losses = [row["train/loss"] for row in rows if "train/loss" in row]
    assert len(losses) == STEPS
    assert losses[-1] < losses[0]
    assert [row["step"] for row in rows if "dev/bleu" in row] == [6, 12]
    assert {row["train/programs"] for row in rows if "train/programs" in row} == {1}
    assert len(list((trained / "best").iterdir())) == 1
    result = json.loads((trained / "train.json").read_text())
    assert result["steps"] == STEPS
    assert result["averaged_steps"] == [8, 12]
    assert any((trained / "tensorboard").iterdir())


@pytest.mark.heavy
def test_a_run_killed_at_random_steps_resumes_to_the_same_bits(
    trained: Path, text_dataset: Path, tmp_path: Path
) -> None:
    """Weights, optimizer, dropout's random state; hence also data, schedule and accumulation.

    The uninterrupted run evaluates on dev meanwhile and this one does not, which changes nothing.
    """
    run_dir = tmp_path / "run"
    flags = training_flags(text_dataset, run_dir, "--eval_every_steps=0")
    metrics = run_dir / "metrics.jsonl"
    for step in sorted(random.Random(5).sample(range(1, STEPS), 2)):
        process = start("-m", "trainer.task", *flags)
        while not (metrics.exists() and b'{"step": %d,' % step in metrics.read_bytes()):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with metrics.open("ab") as file:
            file.write(b'\xff\xfe{"step": 4\n[]\n{"step": 9, "tr')  # as a power cut may
    assert not (run_dir / "train.json").exists()
    result = call("trainer.task", *flags)
    assert result.returncode == 0, result.stderr
    assert "skipped 3 damaged line(s)" in result.stderr
    resumed, uninterrupted = weights(run_dir), weights(trained)
    assert resumed.keys() == uninterrupted.keys()
    for name in uninterrupted:
        np.testing.assert_array_equal(resumed[name], uninterrupted[name], err_msg=name)
    for row, expected in zip(figures(run_dir), figures(trained), strict=True):
        assert row == expected


# Runs trainer.task, but takes two minutes to complete the checkpoint of step 8.
WRITES_SLOWLY = """
import runpy, time
from trainer.runs import checkpoint_files

save = checkpoint_files._save

def save_slowly(path, arrays):
    save(path, arrays)
    if path.parent.name == ".step-00000008.tmp":
        time.sleep(120)

checkpoint_files._save = save_slowly
runpy.run_module("trainer.task", run_name="__main__", alter_sys=True)
"""


@pytest.mark.heavy
def test_a_run_killed_while_it_writes_a_checkpoint_resumes_to_the_same_bits(
    trained: Path, text_dataset: Path, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    flags = training_flags(text_dataset, run_dir, "--eval_every_steps=0")
    process = start("-c", WRITES_SLOWLY, *flags)
    metrics = run_dir / "metrics.jsonl"
    while not (metrics.exists() and '{"step": 11,' in metrics.read_text()):  # three updates later
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    left = {path.name for path in (run_dir / "checkpoints").iterdir()}
    assert left == {"step-00000004", ".step-00000008.tmp"}
    succeed("trainer.task", *flags)
    assert {path.name for path in (run_dir / "checkpoints").iterdir()} == {
        "step-00000008",
        "step-00000012",
    }
    resumed, uninterrupted = weights(run_dir), weights(trained)
    for name in uninterrupted:
        np.testing.assert_array_equal(resumed[name], uninterrupted[name], err_msg=name)


ENDLESS = ("--train_steps=100000", "--checkpoint_every_steps=0", "--eval_every_steps=0")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.heavy)],
)
def test_a_stopped_run_saves_a_checkpoint_and_exits_as_unfinished(
    text_dataset: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process = start("-m", "trainer.task", *training_flags(text_dataset, tmp_path / "run", *ENDLESS))
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not (metrics.exists() and metrics.read_text()):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == code, stderr
    assert f"stopped by {number.name} with a checkpoint saved" in stderr
    assert "same command again" in stderr
    assert stdout == ""
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert json.loads((checkpoint / "checkpoint.json").read_text())["interim"]


@pytest.mark.heavy
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_stopped_before_its_first_update_exits_as_unfinished(
    text_dataset: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process = start("-m", "trainer.task", *training_flags(text_dataset, tmp_path / "run", *ENDLESS))
    assert process.stderr
    assert any("steps 0 to 100000" in line for line in process.stderr)  # the model is built
    process.send_signal(number)
    _, stderr = process.communicate(timeout=300)
    # A shell shows the exit code of a process that a signal killed as 128 plus its number.
    assert process.returncode in (code, -number), stderr
    assert "Traceback" not in stderr


def test_deterministic_runs_reach_the_same_bits(
    text_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finalize, "evaluate_dev", lambda *_: {"perplexity": 9.0, "bleu": 3.0})
    runs = [tmp_path / name for name in ("first", "second")]
    more = ("--deterministic", "--train_steps=3", "--eval_every_steps=0")
    try:
        for run_dir in runs:
            succeed("trainer.task", *training_flags(text_dataset, run_dir, *more))
            assert is_op_determinism_enabled()
    finally:
        disable_op_determinism()
    first, second = map(weights, runs)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert figures(runs[0]) == figures(runs[1])
    assert "--deterministic=true" in (runs[0] / "flags.txt").read_text()


def test_a_dry_run_reports_what_training_needs_and_writes_nothing(
    text_dataset: Path, tmp_path: Path
) -> None:
    text = succeed("trainer.task", *training_flags(text_dataset, tmp_path / "run", "--dry_run"))
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert lines.keys() == {"parameters", "batch", "memory", "by", "speed", "training"}
    assert int(lines["parameters"].replace(",", "")) > 500 * 32
    assert "in 2 part(s); the widest of" in lines["batch"]
    assert re.match(r"[0-9.]+ GiB", lines["memory"])
    assert re.match(r"formula  [0-9.]+ GiB", lines["by"])
    assert re.match(r"[0-9,]+ tokens/s", lines["speed"])
    assert lines["training"].startswith(f"{STEPS} updates")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_not_modified(trained: Path, text_dataset: Path) -> None:
    before = (trained / "train.json").stat().st_mtime_ns
    result = call("trainer.task", *training_flags(text_dataset, trained))
    assert result.returncode == 0
    assert result.stderr == f"{trained} is finished: {STEPS} steps\n"
    assert result.stdout.startswith("dev: BLEU ")  # only the result
    assert (trained / "train.json").stat().st_mtime_ns == before


def test_a_finished_run_says_so_without_tensorflow(
    trained: Path, text_dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # not importable
    result = call("trainer.task", *training_flags(text_dataset, trained, "--train_steps=8"))
    assert result.returncode == 0
    assert result.stderr == f"{trained} is finished: {STEPS} steps, more than --train_steps=8\n"


def test_base_flags_without_data_name_the_command_that_makes_it(tmp_path: Path) -> None:
    flags = REPOSITORY / "configs" / "base.flags"
    line = refuse("trainer.task", f"--flagfile={flags}", f"--dataset_dir={tmp_path / 'no'}")
    assert f"python -m pipeline.preprocess --output_dir={tmp_path / 'no'}" in line


def test_an_incomplete_dataset_is_refused(text_dataset: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(text_dataset, tmp_path / "copy")
    (copy / "COMPLETED").unlink()
    assert "COMPLETED" in refuse("trainer.task", *training_flags(copy, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_run_of_another_configuration_is_refused(trained: Path, text_dataset: Path) -> None:
    line = refuse("trainer.task", *training_flags(text_dataset, trained, "--model_dim=48"))
    assert "model_dim was 32, now 48" in line
    assert "--run_dir" in line
