import subprocess

from pipeline.stages import worker


def test_a_worker_whose_runner_ended_before_it_started_ends_in_silence() -> None:
    *command, _ = worker.command()
    result = subprocess.run([*command, "999999999"], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")
