"""`preprocess`: from parallel text to a dataset directory, by `pipeline.preprocess` in a process.

A process of its own, because Beam neither returns from an interrupt nor from the loss of a worker:
the command then ends at once and continues next time, which a notebook must survive.
"""

import csv
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from beamformer.arguments import check_names, make_config
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import Dataset, load_dataset

_COMMAND = "pipeline.preprocess"
_MISTAKE, _INTERRUPTED = 2, 130  # exit codes
_ERROR = "error: "


def preprocess(*, beam_options: Sequence[str] = (), **settings: Any) -> Dataset | None:
    """Makes a dataset directory, or finishes one that was interrupted; shows what the command does.

    Args:
        beam_options: options of Apache Beam, as on a command line.
        settings: fields of `PreprocessConfig` and of what it contains, the flags of
            `pipeline.preprocess`.

    Returns:
        The dataset; None with `dry_run=True`, which prints what cleaning would drop.

    Raises:
        UserError: an argument or an input cannot be used.
        KeyboardInterrupt: by Ctrl-C; the same call continues the work.
    """
    check_names(settings, PreprocessConfig)
    config = make_config(PreprocessConfig, settings)
    flags = [_to_flag(name, value) for name, value in settings.items() if value is not None]
    _run([*flags, *beam_options])
    return None if config.dry_run else load_dataset(config.output_dir)


def _to_flag(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{name}={str(value).lower()}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([os.fspath(item) for item in value])
        return f"--{name}={line.getvalue()}"
    return f"--{name}={value}"


def _run(arguments: Sequence[str]) -> None:
    """Runs the command in a process that finds the modules where this one does."""
    path = os.pathsep.join(entry or os.curdir for entry in sys.path)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", _COMMAND, *arguments]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as result,
        subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=result,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process,
    ):
        try:
            last = _relay(process)
        except BaseException:
            process.terminate()
            raise
        result.seek(0)
        sys.stdout.write(result.read())
    _raise_failure(process.returncode, last)


def _relay(process: "subprocess.Popen[str]") -> str:
    """Copies the process's messages as they come; returns the last one, once it has ended."""
    last = ""
    for last in process.stderr or ():
        if not last.startswith(_ERROR):
            sys.stderr.write(last)
    process.wait()
    return last.strip()


def _raise_failure(exit_code: int, last_message: str) -> None:
    if exit_code == _INTERRUPTED:
        raise KeyboardInterrupt(last_message.removeprefix(_ERROR))
    if exit_code == _MISTAKE and last_message.startswith(_ERROR):
        raise UserError(last_message.removeprefix(_ERROR))
    if exit_code:
        raise RuntimeError(f"{_COMMAND} ended with exit code {exit_code}: {last_message}")
