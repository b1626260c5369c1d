"""Ctrl-C, SIGTERM and SIGKILL while worker processes are starting or at work."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.commands import REPOSITORY
from tests.helpers.preprocessing import build, configure, contents, preprocess_flags
from tests.integration.engines.services import running_with, wait_for

VERBS = ("ReadBlocks: ", "CleanPairs: ", "CountWords: ", "EncodePairs: ")  # of progress
INTERRUPTED = ["error: interrupted; running the same command again continues the work"]


def has_begun(error: Path, output: Path) -> bool:
    return "ReadBlocks: start" in error.read_text()


def has_finished_a_block(error: Path, output: Path) -> bool:
    return any(output.glob(".staging/*/done/CleanPairs/*.json"))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("number", "to_group", "has_come", "code", "expected"),
    [
        (signal.SIGINT, True, has_begun, 130, INTERRUPTED),
        (signal.SIGINT, True, has_finished_a_block, 130, INTERRUPTED),
        (signal.SIGTERM, True, has_finished_a_block, 143, INTERRUPTED),
        (signal.SIGKILL, False, has_finished_a_block, -signal.SIGKILL, []),
    ],
)
def test_a_signal_ends_all_processes_with_one_line_at_most_and_the_work_continues(
    tmp_path: Path,
    number: signal.Signals,
    to_group: bool,
    has_come: Callable[[Path, Path], bool],
    code: int,
    expected: list[str],
) -> None:
    config = configure(tmp_path, "out", block_lines=10)
    error = tmp_path / "stderr"
    flags = preprocess_flags(config, num_workers="2")
    with error.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.preprocess", *flags],
            cwd=REPOSITORY,
            env={**os.environ, "MARK": str(tmp_path)},
            stderr=file,
            start_new_session=True,
            preexec_fn=handle_interrupts,
        )
    wait_for(lambda: has_come(error, tmp_path / "out") or None, has_come.__name__)
    (os.killpg if to_group else os.kill)(process.pid, number)
    assert process.wait(60) == code
    wait_for(lambda: None if running_with(str(tmp_path)) else True, "the workers to end")
    lines = error.read_text().splitlines()
    assert [line for line in lines if not line.startswith(VERBS)] == expected
    whole = build(configure(tmp_path, "whole", block_lines=10))
    assert contents(build(config).directory) == contents(whole.directory)


def handle_interrupts() -> None:
    """Restores what a shell's background job ignores."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
