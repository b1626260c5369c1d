"""Benchmarks keep up with the code that they measure and switch."""

import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.benchmarks import record
from tests.benchmarks.optimisations import CHANGES
from tests.benchmarks.switched import SWITCHES

UNRECORDED = {"tables", "search_speed"}  # the second is measured by optimisations
COMMANDS = sorted(
    path.stem
    for path in (ROOT / "tests" / "benchmarks").glob("*.py")
    if "argparse.ArgumentParser(" in path.read_text("utf-8") and path.stem not in UNRECORDED
)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_replaces_a_function_that_exists(name: str) -> None:
    switch = SWITCHES[name]
    assert callable(getattr(importlib.import_module(switch.module), switch.name))


def test_every_switch_belongs_to_a_change_and_every_change_to_a_switch() -> None:
    assert {change.switch for change in CHANGES.values()} - {""} == set(SWITCHES)


def test_a_record_has_what_its_figures_depend_on(tmp_path: Path) -> None:
    output = tmp_path / "new" / "training.json"
    arguments = argparse.Namespace(output=output, work_dir=tmp_path, rounds=3, sizes=["tiny"])
    record.write_record("training", arguments, {"sizes": {}})
    (written,) = record.read_records(output.parent)
    assert written["flags"] == {"rounds": 3, "sizes": ["tiny"]}, "no paths of the machine"
    assert str(tmp_path) not in output.read_text()
    assert written["machine"]["cores"] >= 1
    assert {"python", "tensorflow", "keras", "OpenNMT-tf"} <= set(written["versions"])
    assert written["results"] == {"sizes": {}}
    assert written["file"] == "training.json"


@pytest.mark.parametrize("path", sorted(record.RESULTS.glob("*.json")), ids=lambda path: path.name)
def test_a_committed_record_is_complete(path: Path) -> None:
    values = json.loads(path.read_text(encoding="utf-8"))
    expected = {"benchmark", "flags", "date", "commit", "machine", "versions", "results"}
    assert expected <= set(values)
    assert values["benchmark"] in COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_benchmark_writes_a_record(name: str) -> None:
    source = (ROOT / "tests" / "benchmarks" / f"{name}.py").read_text("utf-8")
    assert f'output_flag(parser, "{name}")' in source
    assert f'write_record("{name}"' in source


def test_a_switched_command_is_still_the_command() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.switched", "whole_batches"]
    command += ["trainer.task", "--help"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "--tokens_per_batch" in result.stdout
