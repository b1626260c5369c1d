"""`preprocess` runs the command in a process of its own, and raises what it reports."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import beamformer as bf
from beamformer import preprocessing


def test_a_dataset_is_made_of_given_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {
        "a, b.en": [f"a dog number {n} sees house {n * 7}\n" for n in range(300)],
        "a, b.de": [f"ein Hund Nummer {n} sieht Haus {n * 7}\n" for n in range(300)],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(lines), "utf-8")
    files: dict[str, Any] = {
        "source_files": [tmp_path / "a, b.en"],
        "target_files": (str(tmp_path / "a, b.de"),),
    }
    dataset = bf.preprocess(
        **files, output_dir=tmp_path / "data", vocabulary_size=300, drop_duplicates=True
    )
    assert dataset and (dataset.source_language, dataset.target_language) == ("en", "de")
    assert sum(split.pairs for split in dataset.splits.values()) == 300
    shown = capsys.readouterr()
    assert "300 of 300 lines" in shown.err
    assert "subwords" in shown.out
    again = bf.preprocess(
        **files, output_dir=tmp_path / "data", vocabulary_size=300, drop_duplicates=True
    )
    assert again == dataset
    with pytest.raises(bf.UserError, match="holds a dataset made with --drop_duplicates=true"):
        bf.preprocess(**files, output_dir=tmp_path / "data", vocabulary_size=300)


def test_mistakes_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(bf.UserError, match="^unknown flag --vocabulary; nearest: --vocabulary_siz"):
        bf.preprocess(vocabulary=8)
    with pytest.raises(bf.UserError, match="^received --holdout_pairs=-1: expected at least "):
        bf.preprocess(holdout_pairs=-1)
    with pytest.raises(bf.UserError, match="^no file x.en: expected text"):
        bf.preprocess(source_files="x.en", target_files="x.de")
    with pytest.raises(bf.UserError, match="^unknown flag --regoin; nearest: --region"):
        bf.preprocess(beam_options=["--regoin=a"])
    assert "error" not in capsys.readouterr().err


@pytest.mark.parametrize("stops_itself", [False, True])
def test_an_interrupt_ends_the_process_and_not_this_one(
    stops_itself: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A terminal interrupts both processes, a notebook this one alone."""
    (tmp_path / "stand_in.py").write_text(_STAND_IN, "utf-8")
    monkeypatch.setattr(preprocessing, "_COMMAND", "stand_in")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    started: list[Any] = []

    def interrupt(*_: object) -> None:
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        started.append(int((tmp_path / "pid").read_text()))
        os.kill(started[0] if stops_itself else os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        bf.preprocess(output_dir=tmp_path)
    thread.join()
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)
    assert not (tmp_path / "finished").exists()


_STAND_IN = """
import os, pathlib, sys, time
from pipeline.common.signals import exiting_at_once
folder = pathlib.Path(sys.argv[1].partition("=")[2])
with exiting_at_once("interrupted"):
    (folder / "new").write_text(str(os.getpid()))
    (folder / "new").rename(folder / "pid")
    time.sleep(5)
    (folder / "finished").touch()
"""


def test_an_unexpected_failure_names_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "stand_in.py").write_text("raise SystemExit(7)", "utf-8")
    monkeypatch.setattr(preprocessing, "_COMMAND", "stand_in")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(RuntimeError, match="stand_in ended with exit code 7"):
        bf.preprocess()
