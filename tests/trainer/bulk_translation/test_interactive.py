import contextlib
import io
import os
import pty
import select
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import pytest
import tensorflow as tf

from tests.helpers.commands import TIMEOUT
from tests.trainer.bulk_translation.test_blocks import (
    ShoutingModel,
    StoredModel,
    shout,
    shout_twice,
)
from trainer.bulk_translation.interactive import translate_interactively
from trainer.inference.batching import Translate


class ListingModel(StoredModel):
    def load(self) -> Translate:
        return shout_twice


class InterruptedModel(StoredModel):
    """A model that Ctrl-C interrupts after the word "stop"."""

    def load(self) -> Translate:
        def translate(text: tf.Tensor) -> dict[str, tf.Tensor]:
            if text[0] == b"stop":
                raise KeyboardInterrupt
            return shout(text)

        return translate


@contextlib.contextmanager
def pipes(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Pipes in place of standard input and output; gives their other ends, unbuffered."""
    (stdin, writer), (reader, stdout) = os.pipe(), os.pipe()
    with contextlib.ExitStack() as stack:
        monkeypatch.setattr(sys, "stdin", stack.enter_context(open(stdin)))
        monkeypatch.setattr(sys, "stdout", stack.enter_context(open(stdout, "w")))
        yield (
            stack.enter_context(open(writer, "wb", buffering=0)),
            stack.enter_context(open(reader, "rb", buffering=0)),
        )


def translate(
    monkeypatch: pytest.MonkeyPatch, text: bytes, model: StoredModel
) -> tuple[int, list[str]]:
    """Returns the exit code and the lines of a session whose input is `text`."""
    output = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    monkeypatch.setattr(sys, "stdout", output)
    code = translate_interactively(model)
    return code, output.buffer.getvalue().decode().splitlines()


def test_a_line_is_answered_while_the_pipe_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with pipes(monkeypatch) as (writer, reader), ThreadPoolExecutor(1) as pool:
        session = pool.submit(translate_interactively, ShoutingModel(None))
        try:
            for line in (b"a", b"", b"b b"):
                writer.write(line + b"\n")
                assert select.select([reader], [], [], TIMEOUT)[0], "no answer"
                assert reader.read(100) == line.upper() + b"\n"
        finally:
            writer.close()
        assert session.result() == 0


def test_a_line_that_is_not_utf_8_is_reported_and_the_session_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    code, lines = translate(monkeypatch, b"\xef\xbb\xbfa\nb\xff\n\nc", ShoutingModel(None))
    assert (code, lines) == (0, ["A", "", "", "C"])
    assert caplog.messages == [
        "standard input, line 2: byte 0xff is not UTF-8; answered as an empty line"
    ]


def test_several_translations_have_the_number_of_their_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, lines = translate(monkeypatch, b"a\n\nb\n", ListingModel(None))
    assert lines == ["0 ||| A ||| -1.0000", "0 ||| a ||| -2.5000", "1 |||  ||| -1.0000",
                     "2 ||| B ||| -1.0000", "2 ||| b ||| -2.5000"]  # fmt: skip


def test_an_interrupt_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    assert translate(monkeypatch, b"a\nstop\nb\n", InterruptedModel(None)) == (130, ["A"])


@pytest.mark.parametrize(
    ("typed", "shown", "prompts"), [(True, True, 3), (True, False, 0), (False, True, 0)]
)
def test_a_prompt_asks_for_each_line_where_input_and_errors_are_a_terminal(
    monkeypatch: pytest.MonkeyPatch, typed: bool, shown: bool, prompts: int
) -> None:
    terminal, ours = pty.openpty()
    os.write(terminal, b"a\nb\n\x04")  # Ctrl-D ends the input
    with open(ours, closefd=False) as keyboard, open(ours, "w", closefd=False) as screen:
        piped, log = io.TextIOWrapper(io.BytesIO(b"a\nb\n")), io.StringIO()
        monkeypatch.setattr(sys, "stdin", keyboard if typed else piped)
        monkeypatch.setattr(sys, "stderr", screen if shown else log)
        assert translate_interactively(ShoutingModel(None)) == 0
    os.write(ours, b"$")  # the shell's prompt
    seen = b""
    while not seen.endswith(b"$"):
        seen += os.read(terminal, 1000)
    os.close(ours)
    os.close(terminal)
    assert (seen.count(b"> "), log.getvalue()) == (prompts, "")
    assert seen.endswith(b"> \r\n$") == bool(prompts)
