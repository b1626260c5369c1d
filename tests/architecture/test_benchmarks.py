"""Benchmarks keep up with the code that they measure and switch."""

import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.cleaning.deduplication import count_ranges
from tests.architecture.source import ROOT
from tests.benchmarks import (
    host_tables,
    optimisation_tables,
    quality_tables,
    recipe_tables,
    recipes,
    record,
    record_tables,
    scale_tables,
    speed_tables,
)
from tests.benchmarks.optimisations import CHANGES
from tests.benchmarks.rivals import stanford_pcfg
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


def test_only_changed_code_marks_the_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True)

    results = tmp_path / "tests" / "benchmarks" / "results"
    results.mkdir(parents=True)
    code, document, written = tmp_path / "a.py", tmp_path / "a.md", results / "a.json"
    for path in (code, document, written):
        path.write_text("before")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message=a")
    monkeypatch.setattr(record, "ROOT", tmp_path)
    name = record.commit()
    document.write_text("after")
    written.write_text("after")
    assert record.commit() == name
    code.write_text("after")
    assert record.commit() == f"{name}+"


def make_record(benchmark: str, results: dict[str, Any], date: str = "2026-11-23") -> record.Record:
    machine = {"processor": "Xeon", "instructions": "AMX", "cores": 2}
    return {
        "benchmark": benchmark,
        "date": date,
        "commit": "abc1234",
        "machine": machine,
        "results": results,
        "file": f"{benchmark}.json",
    }


def cells(table: str) -> list[list[str]]:
    """Returns the cells of a table, without its header."""
    rows = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return [[cell.strip() for cell in row] for row in rows]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[record.Record]:
    """What is committed, as far as tables know."""
    records: list[record.Record] = []
    monkeypatch.setattr(record_tables, "read_records", lambda: records)
    return records


def training_record(speed: float, date: str = "2026-11-23") -> record.Record:
    rounds = {
        "ours, float32": [speed, speed + 1, speed + 200],
        "OpenNMT-tf": [1000.0, 500.0, 800.0],
    }
    measured = {
        name: [{"tokens_per_second": value} for value in values] for name, values in rounds.items()
    }
    sizes = {"tiny": {"operations_per_token": 1e6, "rounds": measured}}
    return make_record("training", {"limits": {"float32_peak": 4e9}, "sizes": sizes}, date)


def test_training_table_has_medians_ratio_and_share_of_peak(records: list[record.Record]) -> None:
    records.append(training_record(1999.0))
    (row,) = cells(speed_tables.training())
    assert row[:4] == ["2 × Xeon, AMX", "tiny", "2,000", ""]
    assert row[4:6] == ["800", ""], "an absent system is an empty cell"
    assert row[-4:] == ["2.50", "50%", "3", "[abc1234](results/training.json)"]


def test_readme_shows_the_newest_record_of_each_model(records: list[record.Record]) -> None:
    records += [training_record(2999.0, "2026-11-24"), training_record(1999.0)]
    (row,) = cells(speed_tables.readme_training())
    assert row == ["tiny", "2 × Xeon, AMX", "3,000", "", "800", "", ""]


def test_decoding_tables(records: list[record.Record]) -> None:
    entry = {
        "sentences": 1000,
        "seconds": {"ours, in process": [4.0, 2.0, 5.0], "CTranslate2, float32": [2.5]},
        "alone_milliseconds": {"ours, in process": {"p50": 35.51, "p95": 46.5}},
        "microseconds_per_token": {"ours": {"16": 192.4, "256": 1850.0}},
    }
    models = {"tiny": {"beam 4": entry}}
    memory = {"1000": 1067.2, "2000": 1070.0, "9000": 1079.0}
    records.append(make_record("decoding", {"models": models, "memory_mib": memory}))
    start = ["2 × Xeon, AMX", "tiny", "beam 4"]
    link = "[abc1234](results/decoding.json)"
    assert cells(speed_tables.decoding()) == [[*start, "250", "", "400", "", "", "3", link]]
    assert cells(speed_tables.latency()) == [[*start, "35.5 / 46.5", "", "", "", link]]
    assert cells(speed_tables.time_by_length()) == [
        [*start, "ours", "192", "", "", "", "1,850", link]
    ]
    looks = [row[1:3] for row in cells(speed_tables.decoding_memory())]
    assert looks == [["1,000", "1,067"], ["9,000", "1,079"]]
    assert cells(speed_tables.readme_decoding()) == [
        ["tiny, beam 4", start[0], "250", "", "400", ""]
    ]


def test_preprocessing_tables(records: list[record.Record]) -> None:
    rounds = [{"wall": wall, "cpu": 2 * wall, "peak_memory": 309.1} for wall in (20.0, 40.0, 10.0)]
    results = {
        "hansard": {"pipeline, 1 worker": {"lines": 1_000_000, "rounds": rounds}},
        "padding_efficiency": 0.9861,
        "encoding": {"lines": 6000, "cpu_seconds": {"ours": [2.0], "theirs": [3.0]}},
    }
    records.append(make_record("preprocess", results))
    (row,) = cells(speed_tables.preprocessing())
    assert row[1:-1] == ["Hansard", "pipeline, 1 worker", "20", "40", "50,000", "40", "309", "3"]
    (row,) = cells(speed_tables.encoding())
    assert row[1:-1] == ["3,000", "2,000", "98.6%"]


def test_scale_tables(records: list[record.Record]) -> None:
    phases = {"CleanPairs": {"seconds": 60.4, "driver": 1.5, "worker 1": 50.0}}
    memory = {"driver_memory": 150.2, "worker_memory": 301.0}
    results = {"wall": 99.9, "cpu": 2.0, "lines": 100_000, **memory, "phases": phases}
    flags = {"pairs": 50_000, "workers": 2}
    records.append({**make_record("scale", results), "flags": flags})
    (row,) = cells(scale_tables.scale())
    assert row[1:-1] == ["50,000", "2", "99.9", "20", "150", "301"]
    assert cells(scale_tables.scale_phases()) == [["50,000", "CleanPairs", "60", "2", "50", ""]]


def test_a_billion_pairs_on_paper_are_the_codes_own_constants() -> None:
    rows = {row[0]: row for row in cells(scale_tables.scale_on_paper())}
    assert rows["MarkDuplicates"][1] == str(count_ranges(scale_tables.PAIRS)) == "512"
    assert rows["CleanPairs"][1] == "5,000" and rows["ReadBlocks"][2] == "250 GB"


def test_optimisations_are_kept_or_rejected(records: list[record.Record]) -> None:
    speeds = {"unit": "tokens/s", "with": [300.0, 200.0, 150.0], "without": [100.0, 100.0, 200.0]}
    entry = {"kept": True, "workloads": {"training, tiny": speeds}}
    records.append(make_record("optimisations", {"parts": entry}))
    (row,) = cells(optimisation_tables.optimisations())
    assert row[0] == "parts" and row[2:5] == ["training, tiny, tokens/s", "200", "100"]
    assert row[5:8] == ["**2.00**", "0.75, 3.00", "3"]
    assert "No record yet" in optimisation_tables.rejected()
    entry["kept"] = False
    assert "No record yet" in optimisation_tables.optimisations()
    assert cells(optimisation_tables.rejected()) == [row]


def test_parsing_table_has_intervals_and_empty_cells(records: list[record.Record]) -> None:
    score = {"score": 71.26, "low": 70.0, "high": 72.5, "signature": "rules"}
    f1 = {"f1": score, "f1_40": {**score, "score": 73.0}}
    tagged = {**f1, "tagging_accuracy": {**score, "score": 95.0}}
    systems = {
        "theirs": {"metrics": tagged, "p_value": 1.0},
        "ours": {"metrics": f1, "p_value": 0.25},
    }
    records.append(make_record("parsers", {"sentences": 508, "systems": systems}))
    theirs, ours = cells(quality_tables.parsers())
    shown = ["**71.3** (70.0 to 72.5)", "", "", "73.0", ""]
    link = "[abc1234](../tests/benchmarks/results/parsers.json)"
    assert theirs == ["theirs", *shown, "95.0", "", "", "508", link]
    assert ours == ["ours", *shown, "", "", "0.250", "508", link]


def test_trees_of_the_other_parser_stand_over_our_words() -> None:
    lines = [
        "(ROOT (S (NP-TMP (NN day)) (VP (VBZ is) (-LRB- -LRB-))))",
        "SENTENCE_SKIPPED_OR_UNPARSABLE",
    ]
    parses = list(stanford_pcfg.read_parses(lines, [("day", "is", "("), ("a", "b")]))
    assert [tree.brackets() for tree in parses] == [
        "(S (NP (NN day)) (VP (VBZ is) (-LRB- -LRB-)))",
        "(TOP (XX a) (XX b))",
    ]
    with pytest.raises(ValueError, match="zip"):
        list(stanford_pcfg.read_parses(lines, [("a",)]))


def test_recipe_tables(records: list[record.Record]) -> None:
    score = {"bleu": 12.34, "low": 11.0, "high": 13.06, "p_value": 0.0123, "perplexity": 45.67}
    run = {"parameters": 2_340_000, "updates": 1200, "scores": {"test": score, "de/test": score}}
    speed = {"ours": {"bleu": 12.0, "mib": 9.81, "seconds": [4.0, 2.0, 5.0]}}
    names = ("de", "multilingual", "back_translation")
    results = {"runs": dict.fromkeys(names, run), "sentences": 1000, "speeds": {"de": speed}}
    records.append(make_record("recipes", results))
    bleu, link = "12.3 (11.0 to 13.1)", "[abc1234](../../tests/benchmarks/results/recipes.json)"
    for table, expected in (
        (
            recipe_tables.recipe_multilingual,
            [
                ["German alone", "2.34 M", "1,200", bleu, ""],
                ["French alone", "", "not yet run", "", ""],
                ["both, by tags", "2.34 M", "1,200", bleu, ""],
            ],
        ),
        (
            recipe_tables.recipe_deep_encoder,
            [["4 + 4", "2.34 M", bleu, "250", "", ""], ["6 + 2", "", "not yet run", "", "", ""]],
        ),
        (
            recipe_tables.recipe_back_translation,
            [
                ["5,000 pairs", "not yet run", "", ""],
                ["as many target tokens back-translated too", "1,200", bleu, "0.012"],
            ],
        ),
    ):
        rows = cells(table())
        assert [row[:-1] for row in rows] == expected
        assert all(row[-1].startswith(link) for row in rows)
    assert cells(recipe_tables.recipe_distillation())[0][:-1] == [
        *("teacher", "2.34 M", "ours", "9.8", "12.0", "250")
    ]
    assert all("not yet run" in row for row in cells(recipe_tables.recipe_fine_tuning()))


def test_every_recipe_has_commands() -> None:
    blocks = [block for recipe in recipes.RECIPES for block in recipes.read_blocks(recipe)]
    assert recipes.PAGE.read_text("utf-8").count("```sh\n") == len(blocks)
    assert all(recipes.read_blocks(recipe) for recipe in recipes.RECIPES)


def test_an_empty_table_names_the_command_that_fills_it(records: list[record.Record]) -> None:
    assert "python -m tests.benchmarks.training --work_dir" in speed_tables.training()
    assert "python -m tests.benchmarks.decoding --work_dir" in speed_tables.readme_decoding()


def test_host_time_table_has_medians_of_intervals(records: list[record.Record]) -> None:
    times = {"milliseconds": [31.0, 12.0, 11.0], "python_milliseconds": [0.5, 0.25, 9.0]}
    runs = [{"replicas": 8, "updates_per_call": 10, **times}]
    records.append(make_record("host_time", {"runs": runs}))
    (row,) = cells(host_tables.host_time())
    assert row[1:] == ["8", "10", "12", "0.5", "[abc1234](results/host_time.json)"]


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
