"""A run that starts from another's weights, with the same and with other subwords."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from model.config import SearchConfig
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset, Vocabulary
from pipeline.subwords.encoding import load_subwords
from tests.helpers.datasets import learn_subwords
from trainer.config import TrainingConfig
from trainer.runs.checkpoints import save_checkpoint, take_snapshot, take_weights
from trainer.runs.run_directory import Run, add_origin, configure_run, open_run
from trainer.training.construction import make_training_model
from trainer.training.initialization import start_from_origin
from trainer.training.train_step import TrainingModel

Start = Callable[..., tuple[TrainingModel, str]]
MATRIX = "transformer/embedding/matrix"


@pytest.fixture
def origin(
    make_run: Callable[..., Run], tiny_dataset: Dataset
) -> tuple[Run, dict[str, np.ndarray]]:
    """A run with one checkpoint, and its weights."""
    run = make_run(seed=7)
    run = open_run(run.transformer, run.training, run.search, tiny_dataset)
    training_model = make_training_model(run)
    save_checkpoint(run.directory, take_snapshot(training_model), step=3, train_seconds=0.0, keep=1)
    return run, take_weights(training_model.transformer)


@pytest.fixture
def start(origin: tuple[Run, Any], tmp_path: Path) -> Start:
    """Starts a new run from it on a dataset."""

    def start(
        dataset: Dataset, strategy: tf.distribute.Strategy | None = None, **settings: Any
    ) -> tuple[TrainingModel, str]:
        training = TrainingConfig(
            dataset_dir=dataset.directory,
            run_dir=str(tmp_path / "new"),
            init_from=str(origin[0].directory),
            **settings,
        )
        run = configure_run(origin[0].transformer, training, SearchConfig(), dataset)
        run = add_origin(run)
        with (strategy or tf.distribute.get_strategy()).scope():
            training_model = make_training_model(run)
        return training_model, start_from_origin(run, training_model, dataset)

    return start


def with_subwords(dataset: Dataset, folder: Path, **sizes: int) -> Dataset:
    """The dataset with subwords of other sizes, by side; one vocabulary if both are the same."""
    vocabularies = {}
    for side, size in sizes.items():
        (folder / str(size)).mkdir(parents=True, exist_ok=True)
        path = learn_subwords("bpe", folder / str(size), size)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        vocabularies[side] = Vocabulary("bpe", f"{size}/{path.name}", sha256, size)
    return dataclasses.replace(dataset, vocabularies=vocabularies, directory=str(folder))


def pieces_of(dataset: Dataset, side: str) -> list[str]:
    subwords = load_subwords(dataset.path(dataset.vocabularies[side].path))
    return subwords.pieces(range(subwords.vocabulary_size))


def test_with_the_same_subwords_every_weight_is_the_origin_s(
    start: Start, origin: tuple[Run, dict[str, np.ndarray]], tiny_dataset: Dataset
) -> None:
    training_model, done = start(tiny_dataset, ema_decay=0.9)
    assert done == f"those of {origin[0].directory}/checkpoints/step-00000003, step 3"
    optimizer, variables = training_model.optimizer, training_model.gradients.variables
    for received in (
        take_weights(training_model.transformer), optimizer.averaged_weights(variables),
    ):  # fmt: skip
        assert received.keys() == origin[1].keys()
        for name, weight in origin[1].items():
            np.testing.assert_array_equal(received[name], weight, err_msg=name)
    assert int(optimizer.iterations) == 0


def test_every_replica_gets_the_origin_s_weights(
    start: Start,
    origin: tuple[Run, dict[str, np.ndarray]],
    tiny_dataset: Dataset,
    eight_cpus: list[str],
) -> None:
    strategy = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    training_model, _ = start(tiny_dataset, strategy, ema_decay=0.9)
    weights = training_model.transformer.trainable_variables
    for variable, average in zip(weights, training_model.optimizer.averages, strict=True):
        for copies in (variable, average):
            for copy in strategy.experimental_local_results(copies.value):
                np.testing.assert_array_equal(copy, origin[1][variable.path])


def test_rows_of_equal_pieces_are_copied_and_the_others_start_afresh(
    start: Start,
    origin: tuple[Run, dict[str, np.ndarray]],
    tiny_dataset: Dataset,
    tmp_path: Path,
) -> None:
    other = with_subwords(tiny_dataset, tmp_path / "data", source=500, target=500)
    old = {piece: row for row, piece in enumerate(pieces_of(tiny_dataset, "target"))}
    training_model, done = start(other)
    received = take_weights(training_model.transformer)
    copied = 0
    for row, piece in zip(received[MATRIX], pieces_of(other, "target"), strict=True):
        if piece in old:
            np.testing.assert_array_equal(row, origin[1][MATRIX][old[piece]], err_msg=piece)
            copied += 1
        else:
            assert not (origin[1][MATRIX] == row).all(axis=1).any(), piece
            assert row.any()
    assert f"; {copied:,} of 500 subwords are in both" in done and 300 < copied <= 500
    for name in received.keys() - {MATRIX}:
        np.testing.assert_array_equal(received[name], origin[1][name], err_msg=name)


def test_a_shared_matrix_serves_both_of_separate_vocabularies(
    start: Start,
    origin: tuple[Run, dict[str, np.ndarray]],
    tiny_dataset: Dataset,
    tmp_path: Path,
) -> None:
    other = with_subwords(tiny_dataset, tmp_path / "data", source=500, target=600)
    training_model, done = start(other)
    received = take_weights(training_model.transformer)
    old = {piece: row for row, piece in enumerate(pieces_of(tiny_dataset, "target"))}
    for name, side in ((MATRIX, "target"), (MATRIX.replace("emb", "source_emb"), "source")):
        places = [n for n, piece in enumerate(pieces_of(other, side)) if piece in old]
        expected = [old[pieces_of(other, side)[n]] for n in places]
        np.testing.assert_array_equal(received[name][places], origin[1][MATRIX][expected])
    assert " of 1,100 subwords are in both" in done


def test_rows_without_weights_are_not_frozen(
    start: Start, tiny_dataset: Dataset, tmp_path: Path
) -> None:
    other = with_subwords(tiny_dataset, tmp_path / "data", source=900, target=900)
    with pytest.raises(UserError, match="received --freeze=embedding.*--subwords_model=.*/subw"):
        start(other, freeze=("embedding",))


def test_subwords_of_another_kind_are_refused(
    start: Start, tiny_dataset: Dataset, tmp_path: Path
) -> None:
    path = learn_subwords("wordpiece", tmp_path, 300)
    vocabulary = Vocabulary("wordpiece", path.name, "0", 300)
    other = dataclasses.replace(
        tiny_dataset,
        directory=str(tmp_path),
        vocabularies={"source": vocabulary, "target": vocabulary},
    )
    with pytest.raises(UserError, match="has wordpiece subwords, .* bpe: .* --subwords=bpe"):
        start(other)


def test_weights_that_were_replaced_meanwhile_are_refused(
    start: Start,
    origin: tuple[Run, Any],
    tiny_dataset: Dataset,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trainer.training.initialization.hash_weights", lambda _: "another")
    with pytest.raises(UserError, match="step-00000003 is not what .*/new started from"):
        start(tiny_dataset)
