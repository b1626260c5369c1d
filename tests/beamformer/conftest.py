"""A tiny run, trained once by `beamformer.train`."""

from pathlib import Path
from typing import Any

import pytest

import beamformer as bf
from pipeline.dataset.schema import Dataset
from tests.helpers.datasets import builtin_splits, write_dataset

TINY: dict[str, Any] = {
    "num_layers": 1,
    "model_dim": 16,
    "feed_forward_dim": 24,
    "num_heads": 2,
    "tokens_per_batch": 512,
    "warmup_steps": 20,
    "train_steps": 4,
    "checkpoint_every_steps": 2,
    "keep_checkpoints": 2,
    "average_checkpoints": 1,
    "beam_size": 2,
    "extra_length": 3,
    "eval_sentences": 4,
}


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return write_dataset(tmp_path_factory.mktemp("api") / "data", builtin_splits())


@pytest.fixture(scope="session")
def run_dir(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; not to be changed."""
    directory = tmp_path_factory.mktemp("api") / "run"
    bf.train(dataset_dir=dataset.directory, run_dir=directory, **TINY)
    return directory
