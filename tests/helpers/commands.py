"""Runs the project's commands as a user does, in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def start(
    *arguments: object, cwd: Path = REPOSITORY, variables: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts `python …` with text pipes, and more environment variables if given."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **(variables or {})}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)  # as users have it: unset
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(
    *arguments: object, cwd: Path = REPOSITORY, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs `python …` to its end and returns what it printed and its exit code."""
    process = start(*arguments, cwd=cwd)
    stdout, stderr = process.communicate(stdin, timeout=300)
    command = [str(argument) for argument in arguments]
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def succeed(*arguments: object, cwd: Path = REPOSITORY, stdin: str = "") -> str:
    """Runs `python …`, requires exit code 0, and returns its standard output."""
    result = run(*arguments, cwd=cwd, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refuse(*arguments: object, cwd: Path = REPOSITORY) -> str:
    """Runs `python …`, requires a one-line error and exit code 2, and returns the line."""
    result = run(*arguments, cwd=cwd)
    assert result.returncode == 2, (result.returncode, result.stderr)
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]
