"""Beam still has the internals that the stages use, and they behave as relied on."""

import argparse
import ast
import functools
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.runners.portability.fn_api_runner import fn_runner, worker_handlers

from pipeline.stages import beam_internals, worker
from tests.architecture.source import find_imports, read_modules

GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# What Beam documents for users.
DOCUMENTED = (
    "apache_beam",
    "apache_beam.metrics",
    "apache_beam.options.pipeline_options",
    "apache_beam.pvalue",
    "apache_beam.runners",
)


def report_process(path: str, number: int) -> None:
    """Writes what a process knows of itself, for a pipeline to run."""
    options = json.loads(os.environ.get("PIPELINE_OPTIONS", "{}"))
    ignored = [signal.getsignal(each) == signal.SIG_IGN for each in GROUP_SIGNALS]
    report = {"pid": os.getpid(), "options": options, "number": number, "ignored": ignored}
    Path(path).write_text(json.dumps(report))


def run_on(path: Path, num_workers: int, command: list[str] | None) -> dict[str, object]:
    options = PipelineOptions(["--s3_region_name=eu-north-1"])
    options.view_as(DirectOptions).direct_num_workers = num_workers
    runner = beam_internals.make_local_runner(options, command)
    assert isinstance(runner, fn_runner.FnApiRunner)
    pipeline = beam.Pipeline(runner=runner, options=options)
    pipeline | beam.Create([3]) | beam.Map(functools.partial(report_process, str(path)))
    pipeline.run().wait_until_finish()
    return json.loads(path.read_text())


def test_without_a_command_this_process_does_the_work(tmp_path: Path) -> None:
    report = run_on(tmp_path / "report", 1, None)
    assert (report["pid"], report["number"]) == (os.getpid(), 3)


def test_worker_processes_receive_the_pipeline_options_and_ignore_signals(tmp_path: Path) -> None:
    report = run_on(tmp_path / "report", 2, worker.command())
    assert report["pid"] != os.getpid() and report["number"] == 3
    assert "eu-north-1" in json.dumps(report["options"])
    assert report["ignored"] == [True, True]


# Dies of SIGINT also where that is ignored, as in a background job of a shell.
DIE_INTERRUPTED = (
    "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), 2)"
)


@pytest.mark.parametrize(
    ("command", "is_interrupt"),
    [
        ("exit 3", False),
        ("kill -KILL $$", False),
        ("kill -TERM $$", True),
        (f"exec {sys.executable} -c '{DIE_INTERRUPTED}'", True),
    ],
)
def test_the_end_of_a_worker_process_is_noticed(
    command: str, is_interrupt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    handler = SimpleNamespace(
        _worker_command_line=command.encode(),
        control_address="localhost:1",
        provision_info=fn_runner.ExtendedProvisionInfo(),
        worker_id="worker",
    )
    worker_handlers.SubprocessSdkWorkerHandler.start_worker(handler)
    handler.worker_thread.join()
    (failure,) = failures
    assert beam_internals.is_worker_exit(failure)
    assert beam_internals.is_interrupt(failure) == is_interrupt, failure.exc_value


def test_the_failure_of_another_thread_is_not_a_worker_exit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failures: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    assert [beam_internals.is_worker_exit(failure) for failure in failures] == [False]


def test_the_parser_has_every_option_of_beam() -> None:
    parser = argparse.ArgumentParser()
    beam_internals.add_all_options(parser)
    names = vars(parser.parse_args([])).keys()
    assert names == PipelineOptions([]).get_all_options().keys()


def test_no_other_stage_uses_internals_of_beam() -> None:
    modules = {
        name: source
        for name, source in read_modules().items()
        if name.startswith("pipeline.stages") and name != beam_internals.__name__
    }
    imported = {
        statement.imported
        for statement in find_imports(modules)
        if statement.package == "apache_beam"
    }
    assert imported <= {*DOCUMENTED}, "move the rest to beam_internals.py"
    private = [
        f"{name}: {node.attr}"
        for name, source in modules.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and getattr(node.value, "id", "self") not in ("self", "cls", "os")
    ]
    assert private == []
