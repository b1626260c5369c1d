import dataclasses
from pathlib import Path

import pytest

from pipeline.dataset.schema import Dataset
from pipeline.summary import summarize
from tests.helpers.preprocessing import build, configure


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return build(configure(tmp_path_factory.mktemp("summary"), "out"))


@pytest.mark.parametrize(
    ("directory", "flags"),
    [
        ("data/multi30k_tok", "--flagfile=configs/multi30k_tok.flags"),
        ("data/wmt14_en_fr", "--flagfile=configs/base_en_fr.flags"),
        (
            "data/mine",
            "--flagfile=configs/multi30k.flags --dataset_dir=data/mine --run_dir=runs/mine",
        ),
        (
            "gs://b/mine",
            "--flagfile=configs/multi30k.flags --dataset_dir=gs://b/mine --run_dir=runs/mine",
        ),
    ],
)
def test_the_next_step_is_the_experiment_made_for_the_directory(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, directory: str, flags: str
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    text = summarize(dataclasses.replace(dataset, directory=directory), 1.0)
    assert text.splitlines()[-1] == f"Next: python -m trainer.task {flags}"


def test_many_pairs_are_for_the_papers_model(dataset: Dataset) -> None:
    train = dataclasses.replace(dataset.splits["train"], pairs=4_500_000)
    large = dataclasses.replace(dataset, splits={**dataset.splits, "train": train})
    assert "--flagfile=configs/base.flags --dataset_dir=" in summarize(large, 1.0)
