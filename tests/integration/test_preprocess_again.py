"""Preprocessing again: after a kill, on a full disk, elsewhere, with other flags."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pipeline import schema, stages
from pipeline.errors import UserError
from tests.integration.preprocessing import ROOT, build, command, configure, contents


def test_workers_runs_and_places_leave_the_same_bytes(tmp_path: Path) -> None:
    plain = build(configure(tmp_path, "one"))
    again = build(configure(tmp_path, "two", num_workers=2))
    assert contents(plain.directory) == contents(again.directory)


def test_a_complete_directory_is_left_alone(tmp_path: Path) -> None:
    dataset = build(configure(tmp_path, "out"))
    times = {path: path.stat().st_mtime_ns for path in dataset.directory.rglob("*")}
    shutil.rmtree(tmp_path / "corpus")  # not even looked at
    (tmp_path / "corpus").mkdir()
    assert build(configure(tmp_path, "out")) == dataset
    assert times == {path: path.stat().st_mtime_ns for path in dataset.directory.rglob("*")}


def test_a_complete_directory_of_another_configuration_is_refused(tmp_path: Path) -> None:
    build(configure(tmp_path, "out"))
    message = "made with --max_length=256, received --max_length=99: choose another --output_dir"
    with pytest.raises(UserError, match=message):
        build(configure(tmp_path, "out", max_length=99))


def test_a_directory_of_other_files_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "out/train").mkdir(parents=True)
    (tmp_path / "out/train/thesis.txt").write_text("dear")
    with pytest.raises(UserError, match="holds files that are no dataset"):
        build(configure(tmp_path, "out"))
    assert contents(tmp_path / "out") == {"train/thesis.txt": b"dear"}


def test_killed_in_the_middle_then_run_again_is_as_if_never_killed(tmp_path: Path) -> None:
    config = configure(tmp_path, "killed", block_lines=2)
    staging = tmp_path / "killed/.staging/encoded"
    process = subprocess.Popen(
        command(config), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not list(staging.glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 0 < len(list(staging.glob("*.json"))) < 250
    with pytest.raises(UserError, match="no COMPLETED"):
        schema.load_dataset(config.output_dir)
    killed = build(config)
    whole = build(configure(tmp_path, "whole", block_lines=2))
    assert contents(killed.directory) == contents(whole.directory)


@pytest.mark.parametrize("moved", range(5))
def test_killed_while_publishing_then_run_again_is_complete(
    tmp_path: Path, moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path, "out")
    moves = []
    replace = os.replace

    def die_after_some(source: str, place: str) -> None:
        if "final" in str(source) and Path(place).parent == tmp_path / "out":
            moves.append(place)
            if len(moves) > moved:
                raise KeyboardInterrupt
        replace(source, place)

    monkeypatch.setattr(os, "replace", die_after_some)
    with pytest.raises(KeyboardInterrupt):
        build(config)
    monkeypatch.undo()
    with pytest.raises(UserError, match="no COMPLETED"):
        schema.load_dataset(config.output_dir)
    assert contents(build(config).directory) == contents(
        build(configure(tmp_path, "whole")).directory
    )


def test_a_full_disk_is_explained_and_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path, "out")
    monkeypatch.setattr(stages.EncodePairs, "_write_shard", full_disk)
    with pytest.raises(UserError, match="EncodePairs cannot write to .*: No space left on device"):
        build(config)
    monkeypatch.undo()
    assert contents(build(config).directory) == contents(build(configure(tmp_path, "b")).directory)


def full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_work_of_another_configuration_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="vocabulary_size=9999 is more than"):
        build(configure(tmp_path, "out", vocabulary_size=9999, block_lines=7))
    mixed = build(configure(tmp_path, "out"))
    assert contents(mixed.directory) == contents(build(configure(tmp_path, "new")).directory)
