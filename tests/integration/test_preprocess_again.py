"""Preprocessing again: after a kill, on a full disk, elsewhere, with other flags."""

import dataclasses
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.blocks.clean_block import CleanBlock
from pipeline.blocks.count_block import CountGroup
from pipeline.blocks.encode_block import EncodeBlock
from pipeline.cleaning.rules import CleaningConfig
from pipeline.common import cli
from pipeline.common.errors import ResumableError, UserError
from pipeline.dataset import schema
from pipeline.subwords.learning import LEARNERS
from tests.helpers.preprocessing import ROOT, build, build_with_beam, configure, contents

MOMENTS = 20


def test_workers_runs_and_places_leave_the_same_bytes(tmp_path: Path) -> None:
    rules = CleaningConfig(drop_duplicates=True, min_script_share=0.5)
    plain = build(configure(tmp_path, "one", cleaning=rules))
    again = build_with_beam(configure(tmp_path, "two", cleaning=rules, num_workers=2))
    assert contents(plain.directory) == contents(again.directory)


def test_a_complete_directory_is_not_modified(tmp_path: Path) -> None:
    dataset = build(configure(tmp_path, "out"))
    times = {path: path.stat().st_mtime_ns for path in Path(dataset.directory).rglob("*")}
    shutil.rmtree(tmp_path / "corpus")  # not even looked at
    (tmp_path / "corpus").mkdir()
    assert build(configure(tmp_path, "out")) == dataset
    assert times == {path: path.stat().st_mtime_ns for path in Path(dataset.directory).rglob("*")}


def test_a_directory_with_a_chosen_vocabulary_is_recognised(tmp_path: Path) -> None:
    dataset = build(configure(tmp_path, "out", vocabulary_size=None))
    assert build(configure(tmp_path, "out", vocabulary_size=None)) == dataset
    message = "made with no --vocabulary_size, received --vocabulary_size=310: choose another"
    with pytest.raises(UserError, match=message):
        build(configure(tmp_path, "out"))


def test_a_complete_directory_of_another_configuration_is_refused(tmp_path: Path) -> None:
    build(configure(tmp_path, "out"))
    message = "made with --max_length=256, received --max_length=99: choose another --output_dir"
    with pytest.raises(UserError, match=message):
        build(configure(tmp_path, "out", max_length=99))


def test_a_flag_newer_than_a_dataset_counts_as_its_default(tmp_path: Path) -> None:
    dataset = build(configure(tmp_path, "out"))
    config = {name: value for name, value in dataset.config.items() if name != "drop_duplicates"}
    schema.write_manifest(dataclasses.replace(dataset, config=config))
    schema.mark_completed(dataset.directory)
    assert build(configure(tmp_path, "out")).config == config
    with pytest.raises(
        UserError, match="made with --drop_duplicates=false, received --drop_duplicates=true"
    ):
        build(configure(tmp_path, "out", cleaning=CleaningConfig(drop_duplicates=True)))


def test_a_directory_of_other_files_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "out/train").mkdir(parents=True)
    (tmp_path / "out/train/thesis.txt").write_text("dear")
    with pytest.raises(UserError, match="holds files that are not a dataset"):
        build(configure(tmp_path, "out"))
    assert contents(tmp_path / "out") == {"train/thesis.txt": b"dear"}


@pytest.mark.heavy
def test_a_run_killed_at_any_moment_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    module = "tests.helpers.killing"
    script = [sys.executable, "-m", module, str(tmp_path), str(MOMENTS)]
    run = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    results = json.loads(run.stdout)
    assert len(results) == MOMENTS
    # The last kills may come after the run was complete.
    assert sum(result["killed"] and not result["accepted"] for result in results) >= MOMENTS - 2
    assert len({result["files"] for result in results}) > MOMENTS // 2  # the moments differ
    whole = contents(tmp_path / "whole")
    for result in results:
        assert contents(result["directory"]) == whole, result


def test_finished_stages_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = configure(tmp_path, "out")
    monkeypatch.setattr(EncodeBlock, "_write_shard", full_disk)
    with pytest.raises(UserError, match="No space left"):
        build(config)
    monkeypatch.undo()
    for stage in (CleanBlock, CountGroup):
        monkeypatch.setattr(stage, "__call__", done_before)
    monkeypatch.setitem(LEARNERS, config.subwords, done_before)
    assert build(config).splits["train"].pairs == 460


def done_before(*_: object) -> None:
    raise AssertionError("this was finished by the first run")


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


def test_a_write_that_a_kill_cut_off_leaves_nothing_in_the_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure(tmp_path, "out")
    monkeypatch.setattr(EncodeBlock, "_write_shard", full_disk)
    with pytest.raises(UserError, match="No space left"):
        build(config)
    monkeypatch.undo()
    (final,) = (tmp_path / "out/.staging").glob("*/final")
    (final / "train").mkdir()
    for place in ("subwords.model.0.tmp", "train/bucket.tfrecord.0.tmp"):
        (final / place).write_bytes(b"half")
    (tmp_path / "out/COMPLETED.0.tmp").write_bytes(b"half")
    whole = build(configure(tmp_path, "whole"))
    assert contents(build(config).directory) == contents(whole.directory)


# One kind of file for each test: first the driver's, then the workers'.
@pytest.mark.parametrize(
    "kind",
    [
        "raw",
        "key.json",
        "pairs",
        ".repeats",
        "counts",
        "subwords.model",
        "final/train",
        "dataset.json",
    ],
)
def test_a_full_disk_is_a_one_line_error_and_the_next_run_resumes(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configure(tmp_path, "out", cleaning=CleaningConfig(drop_duplicates=True))
    gzipped: dict[str, Any] = {}
    for name in ("source_files", "target_files"):  # which the driver has to cut
        plain = Path(getattr(config, name)[0])
        Path(f"{plain}.gz").write_bytes(gzip.compress(plain.read_bytes()))
        gzipped[name] = (f"{plain}.gz",)
    config = dataclasses.replace(config, **gzipped)
    monkeypatch.setattr(sys, "argv", ["preprocess"])
    monkeypatch.setattr(os, "replace", full_disk_for(kind))
    with pytest.raises(SystemExit) as exit:
        cli.run(lambda _: None if build_with_beam(config) else None)
    assert exit.value.code == 2
    error = capsys.readouterr().err.strip().split("\n")[-1]
    assert error.startswith("error: ")
    assert re.search(f"cannot write {tmp_path}/.*{kind}.*: No space left on device; free", error)
    assert not list((tmp_path / "out").rglob("*.tmp"))  # they would take up space
    monkeypatch.undo()
    assert contents(build(config).directory) == contents(
        build(dataclasses.replace(config, output_dir=str(tmp_path / "b"))).directory
    )


def full_disk_for(kind: str) -> Callable[[str, str], None]:
    """Returns an `os.replace` that fails for files with `kind` in their path in the staging."""
    replace = os.replace

    def fail_or_replace(temporary: str, path: str) -> None:
        if kind in str(path).partition(".staging")[2]:
            raise OSError(28, "No space left on device")
        replace(temporary, path)

    return fail_or_replace


def full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary_size": 9999}, "vocabulary_size=9999 is more than"),
        ({"source_files": ("{tmp}/nowhere",)}, "no file .*/nowhere"),
        ({"source_files": ("{tmp}/short",)}, "/short has 2 lines but"),
        ({"source_files": ("{tmp}/latin1",)}, "latin1, line 500: byte 0xfc is not UTF-8"),
    ],
)
def test_a_mistake_in_the_first_run_leaves_no_directory(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    (tmp_path / "short").write_text("a\nb\n")
    (tmp_path / "latin1").write_bytes(b"a\n" * 499 + b"f\xfcr\n")
    for name in changes.keys() & {"source_files"}:
        changes = {name: tuple(path.format(tmp=tmp_path) for path in changes[name])}
    with pytest.raises(UserError, match=message):
        build(configure(tmp_path, "new/out", **changes))
    assert not (tmp_path / "new").exists()


def test_work_of_another_configuration_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EncodeBlock, "_write_shard", full_disk)
    with pytest.raises(ResumableError, match="No space left"):
        build(configure(tmp_path, "out", block_lines=7))
    monkeypatch.undo()
    assert any((tmp_path / "out/.staging").glob("*/pairs/*.tsv"))
    mixed = build(configure(tmp_path, "out"))
    assert contents(mixed.directory) == contents(build(configure(tmp_path, "new")).directory)
