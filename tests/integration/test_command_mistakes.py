"""What every command says to a mistake, and to `--help`."""

import re

import pytest

from tests.helpers.commands import one_line_error, refuse, run_process, succeed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["trainer.task", "--train_stepz=3"], "--train_steps"),
        (
            ["trainer.task", "--dropout=1.5"],
            "received --dropout=1.5: expected at least 0 and below 1",
        ),
        (["trainer.task", "--flagfile=configs/none.flags"], "configs/none.flags"),
        (["trainer.evaluate", "--run_dir=runs/none"], "no run in runs/none"),
        (["trainer.evaluate", "--resamples=1"], "--resamples=1: expected 0 or at least 2"),
        (["trainer.task", "--top_k=5"], "expected a temperature above 0, for sampling"),
        (["trainer.score", "--run_dir=runs/none", "--source_file=x"], "--target_file is required"),
        (["trainer.export", "--run_dir=runs/none", "--output_dir=x"], "no run in runs/none"),
        (["trainer.export", "--run_dir=runs/none"], "--output_dir is required"),
        (["trainer.translate", "--saved_model=none"], "no SavedModel in none"),
        (["trainer.translate", "--saved_model=none", "--beam_size=4"], "and --beam_size"),
        (["trainer.report", "--samples=0"], "received --samples=0: expected at least 1"),
        (["trainer.attention", "--text= "], "expected a sentence"),
        (["trainer.translate", "--saved_model=none", "--input_file=none.txt"], "none.txt"),
        (["trainer.translate", "--saved_model=none", "--runner=Any"], "expected --output_file"),
        (["trainer.translate", "--saved_model=none", "--num_workers=2"], "expected --runner"),
        (["trainer.translate", "--saved_model=none", "--output_file=tests"], "tests is a folder"),
        (["trainer.translate", "--saved_model=none", "--output_file=setup.py"], "setup.py exists"),
        (["trainer.translate", "--saved_model=none", "--worker_zone=a"], "unknown flag"),
        (["trainer.translate", "--interactive", "--input_file=x"], "with --input_file=x: expected"),
        (["trainer.translate", "--interactive", "--output_file=x"], "with --output_file=x: exp"),
        (["trainer.translate", "--interactive", "--prefix_file=x"], "with --prefix_file=x: exp"),
        (["trainer.translate", "--split_sentences", "--prefix_file=x"], "expected one of them"),
        (["trainer.translate", "--interactive", "--runner=Any"], "with --runner=Any: expected"),
        (["trainer.demo", "--port=0", "--saved_model=x", "--beam_size=2"], "and --beam_size"),
        (["trainer.demo", "--port=0", "--run_dir=runs/none"], "no run in runs/none"),
        (["trainer.demo", "--port=99999"], "received --port=99999: expected at least 0 and"),
        (["trainer.export", "--output_dir=gs://b/1"], "expected a folder of a file system"),
        (["trainer.export", "--output_dir=x", "--weights=int8"], "--format=ctranslate2 has int8"),
        (
            ["trainer.export", "--output_dir=x", "--format=ctranslate2", "--ensemble=y"],
            "received --ensemble and --format=ctranslate2",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_it(arguments: list[str], expected: str) -> None:
    assert expected in refuse(*arguments)


def test_a_process_that_refuses_prints_one_line() -> None:
    line = one_line_error(run_process("-m", "trainer.evaluate", "--run_dir=runs/none"))
    assert "no run in runs/none" in line


@pytest.mark.parametrize(
    "name", ["task", "evaluate", "translate", "export", "report", "attention", "demo"]
)
def test_help_teaches_every_flag(name: str) -> None:
    text = succeed(f"trainer.{name}", "--help")
    assert f"Usage: python -m trainer.{name}" in text
    assert "--beam_size=N" in text
    assert "(default: 4)" in text


def test_help_of_score_teaches_no_flag_of_search() -> None:
    text = succeed("trainer.score", "--help")
    assert {"length_penalty", "max_source_length", "source_file"} <= _flags_in(text)
    assert not {"beam_size", "min_length", "temperature"} & _flags_in(text)


def _flags_in(text: str) -> set[str]:
    return set(re.findall(r"^  --([a-z_]+)=", text, re.MULTILINE))


def test_help_of_a_process_is_the_same() -> None:
    result = run_process("-m", "trainer.task", "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == succeed("trainer.task", "--help")
