"""A model of two directions, told apart by tags: from preprocessing to every kind of inference."""

import dataclasses
import json
from pathlib import Path

import pytest

from pipeline.corpora.builtin import generate_pairs
from pipeline.dataset.schema import read_lines
from tests.helpers.commands import call, refuse, succeed
from tests.helpers.shared import make_once
from tests.helpers.tiny_run import training_flags
from trainer.bulk_translation.blocks import Model
from trainer.exporters.saved_model import DEFAULT_SIGNATURE, save_translator
from trainer.inference.translator import load_translator
from trainer.runs.run_directory import Run, load_run
from trainer.runs.trained_model import TrainedModel, TrainedModels

SENTENCES = ["The old dog sleeps.", "", "Der Hund schläft.", "<2en> Der Hund schläft."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Datasets "de" and "en", into these languages, and a run on both."""

    def make(folder: Path) -> None:
        pairs = generate_pairs("train")[:600]
        for side, name in enumerate(("text.en", "text.de")):
            (folder / name).write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
        names = {"de": "--tags=<2de>,<2en>", "en": f"--like={folder / 'de'}"}
        for target, more in names.items():
            source = {"de": "en", "en": "de"}[target]
            sizes = ["--vocabulary_size=400"] if target == "de" else []
            succeed(
                "pipeline.preprocess", f"--output_dir={folder / target}", more, *sizes,
                f"--source_files={folder}/text.{source}", f"--target_files={folder}/text.{target}",
                f"--source_tag=<2{target}>", "--holdout_pairs=6",
            )  # fmt: skip
        flags = training_flags(folder / "de", folder / "run", "--train_steps=2")
        both = f"--dataset_dir={folder / 'de'},{folder / 'en'}"
        quick = ("--eval_every_steps=0", "--average=none", "--dataset_temperature=5")
        succeed("trainer.task", *flags, both, *quick)

    return make_once(tmp_path_factory, "tagged_run", make)


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return load_run(folder / "run")


def translate(folder: Path, lines: list[str], *flags: str) -> list[str]:
    text = "".join(f"{line}\n" for line in lines)
    return succeed("trainer.translate", f"--run_dir={folder / 'run'}", *flags, stdin=text).split(
        "\n"
    )[:-1]


def test_the_run_records_both_directions(folder: Path, run: Run) -> None:
    assert run.data.languages == [("en", "de"), ("de", "en")]
    cards = [json.loads((folder / name / "dataset.json").read_text()) for name in ("de", "en")]
    assert run.data.fingerprints == [card["fingerprint"] for card in cards]
    assert run.training.dataset_dirs == (f"{folder}/de", f"{folder}/en")
    assert cards[0]["vocabularies"] == cards[1]["vocabularies"]


def test_a_tag_is_given_by_a_flag_or_in_the_text(folder: Path) -> None:
    tagged = [line and f"<2de> {line}" for line in SENTENCES]
    by_flag = translate(folder, SENTENCES, "--source_tag=<2de>")
    assert by_flag == translate(folder, tagged) != translate(folder, SENTENCES)
    assert by_flag[1] == ""
    assert translate(folder, SENTENCES, "--source_tag=<2de>", "--interactive") == by_flag
    n_best = translate(folder, SENTENCES[:1], "--source_tag=<2de>", "--n_best=2")
    assert n_best[0].split(" ||| ")[1] == by_flag[0]


def test_a_forgotten_tag_is_noticed(folder: Path, run: Run) -> None:
    assert run.data.required_tags == ["<2de>", "<2en>"]
    command = ("trainer.translate", f"--run_dir={folder / 'run'}")
    warning = "was trained with <2de> or <2en> before each sentence: set --source_tag"
    assert warning in call(*command, stdin="The old dog sleeps.\n").stderr
    assert warning not in call(*command, "--source_tag=<2de>", stdin="The dog sleeps.\n").stderr


def test_finished_blocks_of_another_tag_are_not_reused(run: Run) -> None:
    trained = TrainedModels(str(run.directory))
    models = [Model(None, trained, run.search, source_tag=tag) for tag in ("", "<2de>", "<2en>")]
    assert len({model.identity() for model in models}) == len(models)


def test_evaluation_uses_the_tag_of_its_dataset_and_keeps_the_source_without_it(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("de", "en"):
        flags = [f"--dataset_dir={folder / name}"] if name == "en" else []
        results = tmp_path / name
        succeed(
            "trainer.evaluate", f"--run_dir={folder / 'run'}", "--split=dev", "--resamples=0",
            f"--output_dir={results}", *flags,
        )  # fmt: skip
        lines = (results / "evaluation-dev.jsonl").read_text().splitlines()
        rows = list(map(json.loads, lines))
        sources = read_lines(folder / name / "dev" / "source.txt")
        assert [row["source"] for row in rows] == sources
        expected = translate(folder, sources, f"--source_tag=<2{name}>")
        assert [row["translation"] for row in rows] == expected


def test_a_saved_model_takes_the_tag_as_text(folder: Path, run: Run, tmp_path: Path) -> None:
    search = dataclasses.replace(run.search, beam_size=1)
    translator, _ = load_translator(run, TrainedModel(str(run.directory)), search)
    exported = tmp_path / "exported"
    save_translator(translator, exported, weights="float32", signatures=[DEFAULT_SIGNATURE])
    text = "".join(f"<2de> {line}\n" for line in SENTENCES)
    translations = succeed("trainer.translate", f"--saved_model={exported}", stdin=text)
    assert translations.split("\n")[:-1] == translate(folder, text.splitlines(), "--beam_size=1")
    line = refuse("trainer.translate", f"--saved_model={exported}", "--source_tag=<2de>")
    assert "a SavedModel takes the tag as text; put it before each line" in line


def test_scores_depend_on_the_tag(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("The old dog sleeps.\n")
    (tmp_path / "tagged").write_text("<2de> The old dog sleeps.\n")
    (tmp_path / "target").write_text("Der alte Hund schläft.\n", "utf-8")

    def score(source: str, *flags: str) -> str:
        files = (f"--source_file={tmp_path / source}", f"--target_file={tmp_path / 'target'}")
        return succeed("trainer.score", f"--run_dir={folder / 'run'}", *files, *flags)

    assert score("source", "--source_tag=<2de>") == score("tagged") != score("source")


@pytest.mark.parametrize(
    "command", [["translate"], ["score", "--source_file=none", "--target_file=none"]]
)
def test_a_tag_that_the_vocabulary_lacks_is_refused(folder: Path, command: list[str]) -> None:
    flags = (f"--run_dir={folder / 'run'}", "--source_tag=<2fr>", *command[1:])
    line = refuse(f"trainer.{command[0]}", *flags)
    assert "received --source_tag=<2fr>" in line and "subwords.model has no piece for it" in line


def test_a_dataset_of_a_third_direction_is_refused(folder: Path, tmp_path: Path) -> None:
    succeed(
        "pipeline.preprocess", f"--output_dir={tmp_path / 'fr'}", f"--like={folder / 'de'}",
        f"--source_files={folder}/text.en", f"--target_files={folder}/text.de",
        "--target_language=fr", "--holdout_pairs=6",
    )  # fmt: skip
    flags = (f"--run_dir={folder / 'run'}", f"--dataset_dir={tmp_path / 'fr'}")
    line = refuse("trainer.evaluate", *flags)
    assert "is en → fr," in line and "is en → de and de → en: expected" in line
