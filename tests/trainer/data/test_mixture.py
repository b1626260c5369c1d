"""Mixtures: shares of target tokens, passes over each dataset, and refusals."""

import dataclasses
from fractions import Fraction
from typing import Any

import pytest

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset
from tests.helpers.datasets import split_in_two
from trainer.config import TrainingConfig
from trainer.data import mixture
from trainer.data.mixture import (
    count_target_tokens,
    format_mixture,
    load_datasets,
    name_datasets,
    passes_per_epoch,
    token_shares,
)


def training(**values: Any) -> TrainingConfig:
    return TrainingConfig(dataset_dir="data/a,data/b", **values)


@pytest.fixture(scope="module")
def datasets(tiny_dataset: Dataset) -> list[Dataset]:
    return split_in_two(tiny_dataset)


def with_tokens(dataset: Dataset, tokens: int) -> Dataset:
    """Returns the dataset as if its training text had this many target tokens."""
    train = dataset.splits["train"]
    shards = (dataclasses.replace(train.shards[0], target_tokens=tokens),)
    splits = dataset.splits | {"train": dataclasses.replace(train, shards=shards)}
    return dataclasses.replace(dataset, splits=splits)


def test_shares_follow_the_weights_whatever_the_sizes(datasets: list[Dataset]) -> None:
    config = training(dataset_weights=("3", "1"))
    assert token_shares(datasets, config) == [Fraction(3, 4), Fraction(1, 4)]
    passes = passes_per_epoch(datasets, config)
    tokens = [
        number * count_target_tokens(dataset)
        for number, dataset in zip(passes, datasets, strict=True)
    ]
    assert float(tokens[0] / sum(tokens)) == pytest.approx(0.75, abs=1e-6)
    assert min(passes) == passes[1] == 1
    assert passes[0] > 3


def test_without_weights_datasets_are_as_if_concatenated(datasets: list[Dataset]) -> None:
    assert passes_per_epoch(datasets, training()) == [1, 1]
    tokens = [count_target_tokens(dataset) for dataset in datasets]
    assert token_shares(datasets, training()) == [Fraction(count, sum(tokens)) for count in tokens]


def test_one_dataset_is_passed_once_an_epoch(tiny_dataset: Dataset) -> None:
    for config in (TrainingConfig(), TrainingConfig(dataset_weights=("7",))):
        assert passes_per_epoch([tiny_dataset], config) == [1]
        assert token_shares([tiny_dataset], config) == [1]


@pytest.mark.parametrize(
    ("temperature", "expected"), [(1.0, 0.9), (2.0, 0.75), (1e9, 0.5), (0.5, 81 / 82)]
)
def test_temperature_flattens_the_shares(
    tiny_dataset: Dataset, temperature: float, expected: float
) -> None:
    unequal = [with_tokens(tiny_dataset, 900_000), with_tokens(tiny_dataset, 100_000)]
    shares = token_shares(unequal, training(dataset_temperature=temperature))
    assert float(shares[0]) == pytest.approx(expected)
    assert sum(shares) == 1


def test_the_log_tells_shares_and_passes(tiny_dataset: Dataset) -> None:
    unequal = [with_tokens(tiny_dataset, 900), with_tokens(tiny_dataset, 100)]
    unequal[0] = dataclasses.replace(unequal[0], directory="data/a")
    text = format_mixture(unequal, training(dataset_weights=("1", "1")))
    assert text.startswith("target tokens: data/a 50.00% (1.00 passes an epoch), ")
    assert text.endswith("50.00% (9.00 passes an epoch)")


def test_datasets_are_named_by_folder_if_that_tells_them_apart() -> None:
    assert name_datasets(["x/news", "/y/captions/"]) == ["news", "captions"]
    assert name_datasets(["x/data", "y/data"]) == ["x/data", "y/data"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dataset_weights": ("3",)}, "=3 with --dataset_dir=data/a,data/b: expected 2 weight"),
        ({"dataset_weights": ("3", "1", "1")}, "=3,1,1 with .* expected 2 weight"),
        ({"dataset_weights": ("3", "0")}, "--dataset_weights=3,0: expected numbers above 0"),
        ({"dataset_weights": ("3", "-1")}, "--dataset_weights=3,-1: expected numbers above 0"),
        ({"dataset_weights": ("3", "inf")}, "--dataset_weights=3,inf: expected numbers above 0"),
        ({"dataset_weights": ("3", "x")}, "--dataset_weights=3,x: expected numbers above 0"),
        ({"dataset_temperature": 0.0}, "--dataset_temperature=0.0: expected above 0"),
        ({"dataset_dir": "data/a,"}, "--dataset_dir=data/a,: expected different directories"),
        ({"dataset_dir": "a,a"}, "--dataset_dir=a,a: expected different directories"),
        (
            {"dataset_weights": ("3", "1"), "dataset_temperature": 5.0},
            "--dataset_weights=3,1 with --dataset_temperature=5.0: .* not both",
        ),
    ],
)
def test_a_mixture_that_contradicts_itself_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**{"dataset_dir": "data/a,data/b", **values})


def test_other_subwords_or_shapes_are_refused_with_how_to_make_the_same(
    tiny_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = dataclasses.replace(tiny_dataset, directory="data/a")
    vocabularies = {
        side: dataclasses.replace(vocabulary, sha256="f00" * 21)
        for side, vocabulary in tiny_dataset.vocabularies.items()
    }
    stored = {
        "data/a": first,
        "data/b": dataclasses.replace(tiny_dataset, directory="data/b"),
        "subwords": dataclasses.replace(first, directory="subwords", vocabularies=vocabularies),
        "shapes": dataclasses.replace(first, directory="shapes", bucket_shapes=((5, 6), (7, 8))),
    }
    monkeypatch.setattr(mixture, "load_dataset", stored.__getitem__)
    assert load_datasets(["data/a", "data/b"]) == [stored["data/a"], stored["data/b"]]
    ours = tiny_dataset.vocabularies["source"].sha256[:12]
    remedy = "preprocess it with python -m pipeline.preprocess --like=data/a …"
    with pytest.raises(UserError) as error:
        load_datasets(["data/a", "subwords"])
    assert str(error.value) == (
        "subwords has the subwords of SHA-256 f00f00f00f00…, expected those of data/a, of SHA-256 "
        f"{ours}…: {remedy}"
    )
    with pytest.raises(UserError) as error:
        load_datasets(["data/a", "data/b", "shapes"])
    assert str(error.value) == (
        "shapes has rows of 5×6, 7×8 tokens, expected those of data/a, 16×18, 24×26, 36×40, "
        f"48×52: {remedy}"
    )
