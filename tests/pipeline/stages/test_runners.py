import io
import logging
import os
import signal
import socket
from pathlib import Path
from unittest import mock

import pytest
from apache_beam.options.pipeline_options import (
    DirectOptions,
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PrismRunnerOptions,
    WorkerOptions,
)
from apache_beam.runners.portability import flink_runner
from apache_beam.runners.portability.fn_api_runner import fn_runner

from pipeline.common import signals, storage
from pipeline.common.errors import TO_CONTINUE, UserError
from pipeline.stages.runners import make_options, make_runner, run_to_end
from tests.helpers import commands
from tests.helpers.object_store import MemoryFileSystem
from tests.integration.engines.services import running_with, wait_for


def test_direct_runner_is_the_in_process_one() -> None:
    assert type(make_runner(make_options("DirectRunner", 1, [], []))) is fn_runner.FnApiRunner


def test_other_runners_are_from_beam_with_their_options() -> None:
    options = make_options("FlinkRunner", 1, ["--flink_master=host:8081", "--project", "p"], [])
    assert type(make_runner(options)) is flink_runner.FlinkRunner
    assert options.view_as(FlinkRunnerOptions).flink_master == "host:8081"
    assert options.view_as(GoogleCloudOptions).project == "p"


@pytest.mark.parametrize(
    ("runner", "arguments", "message"),
    [
        ("DirctRunner", [], "received --runner=DirctRunner: .* DirectRunner"),
        ("nowhere.Runner", [], r"--runner=nowhere.Runner requires a library .*apache-beam\[gcp\]"),
        ("pipeline.Runner", [], "--runner=pipeline.Runner: .* no attribute 'Runner'"),
        ("DirectRunner", ["--direct_running_mode=slow"], "direct_running_mode: .*multi_threading"),
        ("DirectRunner", ["--direct_num_workers=3"], "expected --num_workers"),
        ("PortableRunner", ["--job_endpoint=there"], "--job_endpoint=there.*expected the host"),
    ],
)
def test_a_mistake_about_the_engine_is_refused(
    runner: str, arguments: list[str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        make_options(runner, 1, arguments, [])


def test_file_systems_receive_the_command_line_options() -> None:
    make_options("DirectRunner", 1, ["--s3_region_name=eu-north-1"], [])
    storage.is_file("mem://bucket/x")
    assert MemoryFileSystem.options.get_all_options()["s3_region_name"] == "eu-north-1"
    storage.connect({})


def test_a_missing_service_is_reported_at_once() -> None:
    with socket.create_server(("localhost", 0)) as server:
        address = f"localhost:{server.getsockname()[1]}"
        make_options("PortableRunner", 1, [f"--job_endpoint={address}"], [])
    with pytest.raises(UserError, match=f"--job_endpoint={address}, but no service answers there"):
        make_options("PortableRunner", 1, [f"--job_endpoint={address}"], [])


def test_the_number_of_workers_reaches_the_runner() -> None:
    options = make_options("DirectRunner", 3, [], [])
    assert options.view_as(DirectOptions).direct_num_workers == 3
    assert type(make_runner(options)) is fn_runner.FnApiRunner
    portable = make_options("PortableRunner", 3, [], [])
    assert portable.view_as(WorkerOptions).num_workers == 3


@pytest.mark.parametrize(
    ("argument", "nearest"),
    [
        ("--projct=p", "--project"),
        ("--lables=x=y", "--labels"),  # an option's second name
        ("--max_lengt=3", "--max_length"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest(argument: str, nearest: str) -> None:
    with pytest.raises(UserError, match=f"unknown flag .*nearest: {nearest}"):
        make_options("DirectRunner", 1, [argument], ["max_length"])


def test_an_abbreviated_beam_option_is_refused() -> None:
    with pytest.raises(UserError, match="unknown flag --projec;"):
        make_options("DirectRunner", 1, ["--projec=p"], [])


def test_an_option_after_two_dashes_is_the_job_service_s() -> None:
    arguments = ["--project=p", "--", "--finishBundleBeforeCheckpointing=true", "--region=r"]
    options = make_options("DirectRunner", 1, arguments, [])
    values = options.get_all_options(retain_unknown_options=True)
    assert values["finishBundleBeforeCheckpointing"]
    assert (values["project"], values["region"]) == ("p", "r")
    with pytest.raises(UserError, match="unknown flag --finishBundleBeforeCheckpointing"):
        make_options("DirectRunner", 1, ["--finishBundleBeforeCheckpointing=true"], [])


def test_prism_is_the_one_that_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"requires Prism: go install .*@v2\.77\.0, then"):
        make_options("PrismRunner", 1, [], [])
    for where, arguments in (("given", ["--prism_location=FILE"]), ("prism", [])):
        path = tmp_path / where
        given = [argument.replace("FILE", str(path)) for argument in arguments]
        if given:
            with pytest.raises(UserError, match=f"--prism_location={path}: expected a file"):
                make_options("PrismRunner", 1, given, [])
        path.touch(mode=0o755)
        options = make_options("PrismRunner", 1, given, [])
        assert options.view_as(PrismRunnerOptions).prism_location == str(path)


class DataflowRuntimeException(Exception):
    """Stands in for Beam's, which requires Google's clients."""


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            "Dataflow pipeline failed. State: FAILED, Error:\nTraceback (most recent call last):\n"
            '  File "x.py", line 3\nOSError: [Errno 28] No space left on device\n',
            "OSError: [Errno 28] No space left on device",
        ),
        ("Error:\nWorkflow failed.\n\tat x.go", "Error: Workflow failed. at x.go"),
        ("", "the engine gave no reason"),
        ("x" * 900, "x" * 300),
    ],
)
def test_a_failed_job_of_dataflow_is_one_line_with_its_page(message: str, reason: str) -> None:
    result = mock.Mock(client=None, job_id=lambda: "2026-11-24_1")
    result.wait_until_finish.side_effect = DataflowRuntimeException(message)
    options = PipelineOptions(["--project=mine", "--region=europe-west4"])
    page = "https://console.cloud.google.com/dataflow/jobs/europe-west4/2026-11-24_1?project=mine"
    with pytest.raises(UserError) as caught:
        run_to_end(mock.Mock(run=lambda: result, options=options))
    assert str(caught.value) == f"the job failed: {reason}; see {page}; {TO_CONTINUE}"


def test_a_failed_job_of_a_job_service_is_one_line() -> None:
    result = mock.Mock(client=None)
    result.wait_until_finish.side_effect = RuntimeError(
        "Pipeline job-3 failed in state FAILED: java.lang.RuntimeException: Error received from "
        'SDK harness: Traceback (most recent call last):\n  File "x.py", line 3\n'
        "OSError: [Errno 13] Permission denied: '/shared/x' [while running 'EncodePairs']\n\n"
        "\tat org.apache.beam.runners.fnexecution.control.FnApiControlClient\n"
    )
    with pytest.raises(UserError, match="^the job failed: OSError: .*'EncodePairs'.; running"):
        run_to_end(mock.Mock(run=lambda: result))


def test_a_job_server_that_cannot_be_downloaded_is_one_line() -> None:
    problem = "Unable to fetch remote job server jar at https://x/y.jar: refused. Stage it at z"
    with pytest.raises(UserError, match="^Unable to fetch .* at z, or start a job server"):
        run_to_end(mock.Mock(run=mock.Mock(side_effect=RuntimeError(problem))))


def test_errors_that_beam_raises_are_not_logged_as_well() -> None:
    printed = io.StringIO()
    handler = logging.StreamHandler(printed)
    logging.getLogger().addHandler(handler)
    make_options("DirectRunner", 1, [], [])
    try:
        logging.getLogger("PrismJobServer").error("Bundle Failed")
        place = "apache_beam/runners/portability/portable_runner.py"
        lost = logging.LogRecord("root", logging.ERROR, place, 1, "worker lost", None, None)
        logging.getLogger().handle(lost)
        logging.error("of somebody else")
    finally:
        logging.getLogger().removeHandler(handler)
    assert printed.getvalue() == "of somebody else\n"


def test_an_interrupt_cancels_the_job_on_its_engine() -> None:
    result = mock.Mock(client=None)
    result.wait_until_finish.side_effect = lambda: os.kill(os.getpid(), signal.SIGINT)
    with signals.exiting_at_once("interrupted"), pytest.raises(KeyboardInterrupt):
        run_to_end(mock.Mock(run=lambda: result))
    result.cancel.assert_called_once_with()


def test_an_interrupt_does_not_wait_for_workers(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    code = (
        "import pathlib, signal, time\n"
        "import apache_beam as beam\n"
        "from pipeline.common import cli\n"
        "from pipeline.stages import runners\n"
        "def work(path):\n"
        "    pathlib.Path(path).touch()\n"
        "    time.sleep(600)\n"
        "def main(argv):\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    options = runners.make_options('DirectRunner', 2, [], [])\n"
        "    pipeline = beam.Pipeline(runner=runners.make_runner(options), options=options)\n"
        f"    pipeline | beam.Create([{str(begun)!r}]) | beam.Map(work)\n"
        "    runners.run_to_end(pipeline)\n"
        "cli.run(main)\n"
    )
    process = commands.start("-c", code, variables={"MARK": str(tmp_path)})
    wait_for(lambda: begun.exists() or None, "a worker to begin")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in error
    assert error.endswith("error: interrupted; running the same command again continues the work\n")
    wait_for(lambda: None if running_with(str(tmp_path)) else True, "the workers to end")


def test_a_worker_process_that_dies_ends_the_run_and_the_other_workers(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "import apache_beam as beam\n"
        "from pipeline.common import cli\n"
        "from pipeline.stages import runners\n"
        "def main(argv):\n"
        "    options = runners.make_options('DirectRunner', 2, [], [])\n"
        "    pipeline = beam.Pipeline(runner=runners.make_runner(options), options=options)\n"
        "    pipeline | beam.Create([1]) | beam.Map(lambda number: os.kill(os.getpid(), 9))\n"
        "    runners.run_to_end(pipeline)\n"
        "cli.run(main)\n"
    )
    process = commands.start("-c", code, variables={"MARK": str(tmp_path)})
    _, error = process.communicate(timeout=300)
    assert process.returncode == 2, error
    assert [line for line in error.splitlines() if line.startswith("error: a worker process died")]
    wait_for(lambda: None if running_with(str(tmp_path)) else True, "the other worker to end")
