"""The commands of configs/recipes/README.md, in miniature, on the built-in corpus.

A shell expands a block of the page and records its commands, which then run within this process.
"""

import gzip
import importlib.util
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.corpora.builtin import generate_pairs
from pipeline.dataset.schema import load_dataset, read_lines
from tests.benchmarks import recipes
from tests.helpers.commands import REPOSITORY, succeed
from tests.helpers.preprocessing import read_pairs
from trainer.runs.run_directory import load_run

REAL_PAIRS = 120  # of the 5,000 on the page
SIZES = {
    r"\b5000\b": f"{REAL_PAIRS}",
    r"\b5001\b": f"{REAL_PAIRS + 1}",
    r"_size=\d000": "_size=400",
}
MINIATURE = """
--num_layers=1
--model_dim=16
--feed_forward_dim=32
--num_heads=2
--train_steps=2
--tokens_per_batch=512
--checkpoint_every_steps=1
--average_checkpoints=1
--beam_size=2
--extra_length=2
"""
PRINT_ARGUMENTS = '#!/bin/sh\nprintf "%s\\0" "$@" >> commands\nprintf "\\n" >> commands\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to run commands in: flagfiles of a tiny model, and a corpus named as Multi30k."""
    shutil.copytree(REPOSITORY / "configs/recipes", tmp_path / "configs/recipes")
    small = tmp_path / "configs/recipes/small.flags"
    small.write_text(small.read_text("utf-8") + MINIATURE, "utf-8")
    (tmp_path / "multi30k").mkdir()
    pairs = generate_pairs("train")
    splits = {"train": pairs[:400], "val": pairs[400:404], "test_2016_flickr": pairs[404:408]}
    for name, split in splits.items():
        for side, language in enumerate(("en", "de")):
            text = "".join(f"{pair[side]}\n" for pair in split)
            path = tmp_path / "multi30k" / f"{name}.{language}.gz"
            path.write_bytes(gzip.compress(text.encode()))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text(PRINT_ARGUMENTS)
    (tmp_path / "bin/python").chmod(0o755)
    return tmp_path


def commands_of(recipe: str, folder: Path) -> list[list[str]]:
    """Returns module and arguments of every command, after running what is not Python's."""
    text = "\n".join(recipes.read_blocks(recipe))
    for size, small in SIZES.items():
        text = re.sub(size, small, text)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "DIR": str(folder)}
    subprocess.run(["bash", "-ec", text], cwd=folder, env=environment, check=True)
    commands = [line.split("\0")[:-1] for line in (folder / "commands").read_text().splitlines()]
    (folder / "commands").unlink()
    assert all(option == "-m" for option, *_ in commands)
    return [command for _, *command in commands]


def run(commands: list[list[str]], folder: Path) -> None:
    for command in commands:
        succeed(*command, cwd=folder)


@pytest.mark.heavy
def test_back_translation(folder: Path) -> None:
    run(commands_of("back_translation", folder), folder)
    german = [target for _, target in generate_pairs("train")[REAL_PAIRS:400]]
    assert read_lines(folder / "data/text/monolingual.de") == german
    real, made = (
        load_dataset(str(folder / "data/recipes" / name)) for name in ("real", "back_translated")
    )
    assert made.vocabularies == real.vocabularies
    assert (real.source_tag, made.source_tag) == ("", "<bt>")
    pairs = read_pairs(made, "train")
    assert {target for _, target in pairs} <= {*german}
    assert all(source.startswith("<bt>") for source, _ in pairs)
    directory = folder / "runs/recipes/back_translation"
    assert load_run(directory).data.fingerprints == [real.fingerprint, made.fingerprint]
    result = json.loads((directory / "evaluation-test.json").read_text())
    assert result["sentences"] == 4 and "beside_baseline" in result


@pytest.mark.heavy
def test_distillation(folder: Path) -> None:
    teacher = [
        command
        for command in commands_of("multilingual", folder)
        if any(argument.endswith("recipes/de") for argument in command)
    ]
    commands = [*teacher, *commands_of("distillation", folder)]
    if not importlib.util.find_spec("ctranslate2"):
        commands = [command for command in commands if command[0] != "trainer.export"]
    run(commands, folder)
    translations = read_lines(folder / "data/text/distilled.de")
    assert len(translations) == 400
    data, real = (load_dataset(str(folder / "data/recipes" / name)) for name in ("distilled", "de"))
    assert data.vocabularies == real.vocabularies
    for name, dataset in (("student", real), ("distillation", data)):
        student = load_run(folder / "runs/recipes" / name)
        assert student.transformer.depths == (3, 1)
        assert student.data.fingerprint == dataset.fingerprint
    dev, test = (
        recipes.collect(folder)[name]["scores"]["test"]["bleu"] for name in ("de", "distillation")
    )
    assert 0 <= dev <= 100 and 0 <= test <= 100
