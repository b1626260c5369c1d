import io
import os
import sys
import threading
from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from tests.trainer.bulk_translation.test_blocks import ShoutingModel
from trainer.bulk_translation.driver import TextFiles, translate_file

MODEL = ShoutingModel(None)


def translate(folder: Path, input_file: str = "-") -> str:
    """Translates into the file "out" and returns what it holds."""
    output = str(folder / "out")
    files = TextFiles(input_file=input_file, output_file=output, block_lines=2)
    translate_file(files, MODEL, beam_arguments=[], our_flags=[])
    assert not (folder / "out.parts").exists()
    return (folder / "out").read_text("utf-8")


def test_a_finished_file_is_not_replaced_because_of_parts_of_another(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a\nb\nc\n")
    (tmp_path / "empty").touch()
    (tmp_path / "out").write_text("precious\n")
    (tmp_path / "out.parts").mkdir()
    (tmp_path / "out.parts" / "000000000-of-another.txt").touch()
    for name in ("in", "empty"):
        with pytest.raises(UserError, match="out exists: delete it"):
            translate(tmp_path, input_file=str(tmp_path / name))
    assert (tmp_path / "out").read_text() == "precious\n"


def test_what_was_killed_before_its_parts_were_deleted_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").write_text("a\nb\nc\n")
    monkeypatch.setattr("pipeline.common.storage.delete", lambda path: None)
    with pytest.raises(AssertionError):
        translate(tmp_path, input_file=str(tmp_path / "in"))
    monkeypatch.undo()
    assert translate(tmp_path, input_file=str(tmp_path / "in")) == "A\nB\nC\n"


def test_what_follows_a_prefix_is_not_aligned() -> None:
    with pytest.raises(ValueError, match="--alignments=true with --prefix_file=begun"):
        TextFiles(alignments=True, prefix_file="begun")
    assert TextFiles(word_confidence=True).beside == ("word_confidence",)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=["a\nb\nc\n"])
    writer.start()
    assert translate(tmp_path, input_file=str(tmp_path / "pipe")) == "A\nB\nC\n"
    writer.join()


def test_a_refused_text_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n\xff\n")))
    with pytest.raises(UserError, match="line 3: byte 0x.. is not UTF-8"):
        translate(tmp_path)
    assert not [*tmp_path.iterdir()]
