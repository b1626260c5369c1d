import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from model.config import TransformerConfig
from model.transformer import Transformer
from pipeline.common.errors import UserError
from trainer.runs.checkpoint_files import (
    Checkpoint,
    find_checkpoint,
    list_best,
    list_checkpoints,
    read_arrays,
)
from trainer.runs.checkpoints import (
    delete_unfinished,
    load_weights,
    mean_weights,
    restore_latest,
    save_averaged,
    save_best,
    save_checkpoint,
    take_snapshot,
)
from trainer.training.train_step import TrainingModel

MakeTrainingModel = Callable[..., TrainingModel]


def update(training_model: TrainingModel, seed: int = 0) -> None:
    """Moves weights, Adam's averages and dropout's random state, as an update would."""
    random = np.random.default_rng(seed)
    variables = training_model.transformer.trainable_variables
    gradients = [tf.constant(random.normal(size=v.shape), tf.float32) for v in variables]
    training_model.optimizer.apply(gradients, variables)
    ids = tf.constant([[4, 5, 1]])
    training_model.transformer(ids, ids, training=True)


def state_of(training_model: TrainingModel) -> list[np.ndarray]:
    variables = (
        training_model.transformer.trainable_variables
        + training_model.optimizer.variables
        + training_model.transformer.non_trainable_variables
    )
    return [keras.ops.convert_to_numpy(variable) for variable in variables]


def save(
    run_dir: Path, training_model: TrainingModel, step: int, *, keep: int = 9, interim: bool = False
) -> None:
    save_checkpoint(
        run_dir,
        take_snapshot(training_model),
        step=step,
        train_seconds=step / 2,
        keep=keep,
        interim=interim,
    )


def average(run_dir: Path, checkpoints: list[Checkpoint]) -> Checkpoint:
    sources = [checkpoint.step for checkpoint in checkpoints]
    return save_averaged(run_dir, mean_weights(checkpoints), checkpoints[-1], sources=sources)


def steps(run_dir: Path) -> list[int]:
    return [checkpoint.step for checkpoint in list_checkpoints(run_dir)]


def test_a_restored_training_model_has_every_bit_of_the_saved_one(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    saved, fresh = reuse_training_model(), reuse_training_model(seed=2)
    for seed in range(3):
        update(saved, seed)
    initial = state_of(fresh)
    save(tmp_path, saved, 3)
    restored = restore_latest(tmp_path, fresh)
    assert restored is not None
    assert (restored.step, restored.train_seconds) == (3, 1.5)
    assert int(fresh.optimizer.iterations) == 3
    moved = 0
    for before, expected, received in zip(initial, state_of(saved), state_of(fresh), strict=True):
        assert received.dtype == expected.dtype
        np.testing.assert_array_equal(received, expected)
        moved += not np.array_equal(before, expected)
    # Every weight, two averages of each, the count, and a seed for each dropout that ran.
    weights = len(saved.transformer.trainable_variables)
    assert moved >= 3 * weights + 1 + len(saved.transformer.non_trainable_variables)


def test_a_restored_training_model_drops_the_same_units(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    ids = tf.constant([[4, 5, 1]])
    saved, fresh = reuse_training_model(), reuse_training_model(seed=2)
    update(saved)
    save(tmp_path, saved, 1)
    restore_latest(tmp_path, fresh)
    np.testing.assert_array_equal(
        fresh.transformer(ids, ids, training=True), saved.transformer(ids, ids, training=True)
    )


def test_training_does_not_change_a_snapshot(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    training_model = reuse_training_model()
    update(training_model)
    expected = state_of(training_model)
    snapshot = take_snapshot(training_model)
    for seed in (1, 2):
        update(training_model, seed)
    save_checkpoint(tmp_path, snapshot, step=1, train_seconds=0.0, keep=1)
    restore_latest(tmp_path, training_model)
    for received, wanted in zip(state_of(training_model), expected, strict=True):
        np.testing.assert_array_equal(received, wanted)


def test_the_scale_of_the_loss_is_restored(
    tmp_path: Path, make_training_model: MakeTrainingModel
) -> None:
    keras.config.set_dtype_policy("mixed_float16")
    try:
        saved, fresh = make_training_model(), make_training_model()
    finally:
        keras.config.set_dtype_policy("float32")
    assert saved.loss_scale is not None and fresh.loss_scale is not None
    saved.loss_scale.scale.assign(4.0)
    saved.loss_scale.good_updates.assign(17)
    save(tmp_path, saved, 1)
    restore_latest(tmp_path, fresh)
    assert (float(fresh.loss_scale.scale), int(fresh.loss_scale.good_updates)) == (4.0, 17)


def test_nothing_is_restored_where_nothing_was_saved(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    assert restore_latest(tmp_path, reuse_training_model()) is None


def test_training_does_not_start_afresh_over_checkpoints_that_cannot_be_read(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    training_model = reuse_training_model()
    for step in (5, 10):
        save(tmp_path, training_model, step)
    (tmp_path / "checkpoints/step-00000005/state.npz").write_bytes(b"")
    (tmp_path / "checkpoints/step-00000010/checkpoint.json").unlink()
    with pytest.raises(UserError, match="none of the 2 checkpoints in .* can be read"):
        restore_latest(tmp_path, training_model)


def test_what_a_kill_left_is_deleted_and_nothing_else(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    save(tmp_path, reuse_training_model(), 5)
    kept = sorted(tmp_path.rglob("*"))
    for name in ("checkpoints/.step-00000010.tmp", "checkpoints/.step-00000005.old"):
        shutil.copytree(tmp_path / "checkpoints/step-00000005", tmp_path / name)
    (tmp_path / ".averaged.tmp").mkdir()
    delete_unfinished(tmp_path)
    assert sorted(tmp_path.rglob("*")) == kept


def test_only_the_newest_are_kept(tmp_path: Path, reuse_training_model: MakeTrainingModel) -> None:
    training_model = reuse_training_model()
    for step in (5, 10, 15, 20):
        save(tmp_path, training_model, step, keep=2)
    assert steps(tmp_path) == [15, 20]


def test_a_kill_during_deletion_leaves_a_whole_checkpoint_or_one_to_clean_up(
    tmp_path: Path,
    reuse_training_model: MakeTrainingModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def stop_halfway(path: Path, **_: object) -> None:
        if path.exists():
            (path / "checkpoint.json").unlink()
            raise KeyboardInterrupt

    training_model = reuse_training_model()
    save(tmp_path, training_model, 5, keep=1)
    monkeypatch.setattr(shutil, "rmtree", stop_halfway)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, training_model, 10, keep=1)
    monkeypatch.undo()
    assert steps(tmp_path) == [10]
    assert not caplog.records
    delete_unfinished(tmp_path)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000010"]


def test_an_interim_checkpoint_displaces_none_and_goes_with_the_next(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    training_model = reuse_training_model()
    for step in (5, 10):
        save(tmp_path, training_model, step, keep=2)
    save(tmp_path, training_model, 12, keep=2, interim=True)
    assert [checkpoint.interim for checkpoint in list_checkpoints(tmp_path)] == [False, False, True]
    save(tmp_path, training_model, 13, keep=2, interim=True)
    assert steps(tmp_path) == [5, 10, 13]
    save(tmp_path, training_model, 15, keep=2)
    assert steps(tmp_path) == [10, 15]


def test_the_best_weights_replace_those_before(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    training_model = reuse_training_model()
    with pytest.raises(UserError, match="no checkpoint 'best'"):
        find_checkpoint(tmp_path, "best")
    for step in (4, 8):
        update(training_model, step)
        save_best(tmp_path, training_model.transformer, step=step, bleu=float(step), keep=1)
    best = find_checkpoint(tmp_path, "best")
    assert (best.step, steps(tmp_path)) == (8, [])
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["step-00000008"]
    fresh = reuse_training_model(seed=2)
    load_weights(best, fresh.transformer)
    for received, wanted in zip(
        fresh.transformer.trainable_variables,
        training_model.transformer.trainable_variables,
        strict=True,
    ):
        np.testing.assert_array_equal(received, wanted)


def test_the_n_best_are_kept_in_their_order(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    transformer = reuse_training_model().transformer
    for step, bleu in ((1, 20.0), (2, 23.0), (3, 21.0), (4, 19.0), (5, 21.0), (6, 25.0)):
        save_best(tmp_path, transformer, step=step, bleu=bleu, keep=3)
    assert [(checkpoint.step, checkpoint.bleu) for checkpoint in list_best(tmp_path)] == [
        (6, 25.0),
        (2, 23.0),
        (3, 21.0),
    ]
    assert find_checkpoint(tmp_path, "best").step == 6
    # A killed run evaluates again what it had evaluated after its newest checkpoint.
    save_best(tmp_path, transformer, step=6, bleu=25.0, keep=3)
    assert [checkpoint.step for checkpoint in list_best(tmp_path)] == [6, 2, 3]
    assert len([*(tmp_path / "best").iterdir()]) == 3  # and nothing of the one replaced


def test_a_killed_write_leaves_the_earlier_checkpoint_in_force(
    tmp_path: Path, reuse_training_model: MakeTrainingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    training_model = reuse_training_model()
    save(tmp_path, training_model, 1)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", killed)  # the last file, arrays are written
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, training_model, 2)
    left = {path.name for path in (tmp_path / "checkpoints").iterdir()}
    assert left == {"step-00000001", ".step-00000002.tmp"}
    restored = restore_latest(tmp_path, training_model)
    assert restored is not None and restored.step == 1
    save(tmp_path, training_model, 2)
    assert steps(tmp_path) == [1, 2]
    assert not list((tmp_path / "checkpoints").glob(".*"))


@pytest.mark.parametrize("name", ["weights.npz", "state.npz", "checkpoint.json"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_truncated_checkpoint_is_passed_over_with_a_warning(
    tmp_path: Path,
    reuse_training_model: MakeTrainingModel,
    caplog: pytest.LogCaptureFixture,
    name: str,
    share: float,
) -> None:
    training_model = reuse_training_model()
    save(tmp_path, training_model, 1)
    update(training_model)
    save(tmp_path, training_model, 2)
    path = tmp_path / "checkpoints" / "step-00000002" / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    fresh = reuse_training_model(seed=2)
    with caplog.at_level("WARNING", logger="absl"):
        restored = restore_latest(tmp_path, fresh)
    assert restored is not None and restored.step == 1
    assert int(fresh.optimizer.iterations) == 0
    assert "damaged checkpoint" in caplog.text
    assert "step-00000002" in caplog.text


@pytest.mark.parametrize(
    ("bytes_", "damaged"),
    [
        (b"PK\x01\x02", 10),  # an unknown compression, in the directory of the archive
        (b"'descr'", 0),  # the description of an array
    ],
)
def test_damage_to_the_archive_itself_is_told(
    tmp_path: Path, reuse_training_model: MakeTrainingModel, bytes_: bytes, damaged: int
) -> None:
    save(tmp_path, reuse_training_model(), 5)
    path = tmp_path / "checkpoints/step-00000005/weights.npz"
    data = bytearray(path.read_bytes())
    data[data.index(bytes_) + damaged] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(UserError, match="damaged checkpoint: .*weights.npz"):
        read_arrays(list_checkpoints(tmp_path)[0], "weights")


def test_a_damaged_checkpoint_is_not_averaged_and_goes_with_the_next_save(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    training_model = reuse_training_model()
    for step in (1, 5):
        save(tmp_path, training_model, step)
    (tmp_path / "checkpoints" / "step-00000005" / "weights.npz").write_bytes(b"PK")
    with pytest.raises(
        UserError, match=r"damaged checkpoint: .*; delete .*step-00000005 to continue"
    ):
        mean_weights(list_checkpoints(tmp_path))
    restore_latest(tmp_path, training_model)
    save(tmp_path, training_model, 3, interim=True)
    assert steps(tmp_path) == [1, 3]


def test_the_average_is_the_mean_of_the_weights(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    training_model = reuse_training_model()
    weights = []
    for step in (1, 2, 3):
        update(training_model, step)
        save(tmp_path, training_model, step)
        weights.append([v.numpy().astype(np.float64) for v in training_model.transformer.weights])
    averaged = average(tmp_path, list_checkpoints(tmp_path)[1:])
    assert averaged.path == tmp_path / "averaged"
    assert (averaged.step, averaged.sources, averaged.train_seconds) == (3, (2, 3), 1.5)
    load_weights(averaged, training_model.transformer)
    trainable = {id(v) for v in training_model.transformer.trainable_variables}
    for variable, second, third in zip(
        training_model.transformer.weights, *weights[1:], strict=True
    ):
        if id(variable) in trainable:
            np.testing.assert_allclose(variable.numpy(), (second + third) / 2, rtol=1e-6)


def test_the_mean_is_summed_in_float64(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    training_model = reuse_training_model()
    weight = training_model.transformer.trainable_variables[0]
    for step, value in enumerate((2.0**24, 1.0, 1.0), 1):  # in float32 each 1 would be lost
        weight.assign(np.full(weight.shape, value, np.float32))
        save(tmp_path, training_model, step)
    mean = mean_weights(list_checkpoints(tmp_path))[weight.path]
    np.testing.assert_array_equal(mean, np.float32((2**24 + 2) / 3))


@pytest.mark.parametrize("config", [{"num_layers": 2}, {"positions": "learned"}])
def test_a_checkpoint_of_another_configuration_is_refused(
    tmp_path: Path, reuse_training_model: MakeTrainingModel, config: dict[str, object]
) -> None:
    sizes = {"model_dim": 16, "feed_forward_dim": 24, "num_heads": 2}
    save(tmp_path, reuse_training_model(), 1)
    fresh = reuse_training_model(TransformerConfig(**{"num_layers": 1, **sizes, **config}))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="step-00000001 belongs to another configuration"):
        restore_latest(tmp_path, fresh)


@pytest.mark.parametrize("feed_forward_dim", [1024, 528])
def test_only_weights_of_the_same_configuration_are_loaded(
    tmp_path: Path, reuse_training_model: MakeTrainingModel, feed_forward_dim: int
) -> None:
    """528 columns are those of 512 with the padding that search adds after loading."""
    config = TransformerConfig(num_layers=1, model_dim=16, feed_forward_dim=512, num_heads=2)
    training_model = reuse_training_model(config)
    save(tmp_path, training_model, 1)
    sizes = dataclasses.replace(config, feed_forward_dim=feed_forward_dim)
    transformer = Transformer(sizes, training_model.transformer.vocabulary_size)
    (checkpoint,) = list_checkpoints(tmp_path)
    with pytest.raises(UserError, match="step-00000001 belongs to another configuration"):
        load_weights(checkpoint, transformer)


@pytest.mark.parametrize("config", [{"num_layers": 2}, {"feed_forward_dim": 32}])
def test_checkpoints_of_different_configurations_are_not_averaged(
    tmp_path: Path, reuse_training_model: MakeTrainingModel, config: dict[str, int]
) -> None:
    sizes = {"num_layers": 1, "model_dim": 16, "feed_forward_dim": 24, "num_heads": 2}
    save(tmp_path, reuse_training_model(), 1)
    save(tmp_path, reuse_training_model(TransformerConfig(**(sizes | config))), 2)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="step-00000002 belongs to another configuration: transf"):
        mean_weights(list_checkpoints(tmp_path))


def test_a_checkpoint_is_found_by_name(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    training_model = reuse_training_model()
    for step in (1, 2):
        save(tmp_path, training_model, step)
    assert find_checkpoint(tmp_path, "auto").step == 2
    assert find_checkpoint(tmp_path, "last").step == 2
    assert find_checkpoint(tmp_path, "1").step == 1
    average(tmp_path, list_checkpoints(tmp_path))
    assert find_checkpoint(tmp_path, "auto").sources == (1, 2)
    assert find_checkpoint(tmp_path, "averaged").sources == (1, 2)
    assert find_checkpoint(tmp_path, "last").path.name == "step-00000002"


def test_a_missing_checkpoint_is_named_with_those_there_are(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    with pytest.raises(UserError, match=r"no checkpoint 'auto' .* \(steps there: none\)"):
        find_checkpoint(tmp_path, "auto")
    save(tmp_path, reuse_training_model(), 7)
    with pytest.raises(UserError, match=r"no checkpoint '8' .* \(steps there: 7\).*--checkpoint"):
        find_checkpoint(tmp_path, "8")
    with pytest.raises(UserError, match="no checkpoint 'averaged'"):
        find_checkpoint(tmp_path, "averaged")


def test_a_damaged_description_of_an_average_is_told(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    save(tmp_path, reuse_training_model(), 1)
    average(tmp_path, list_checkpoints(tmp_path))
    description = tmp_path / "averaged" / "checkpoint.json"
    description.write_bytes(description.read_bytes()[:-9])
    with pytest.raises(
        UserError, match=r"damaged checkpoint: .*; delete .*averaged to continue without"
    ):
        find_checkpoint(tmp_path, "auto")


def test_the_description_is_readable_json(
    tmp_path: Path, reuse_training_model: MakeTrainingModel
) -> None:
    save(tmp_path, reuse_training_model(), 4, interim=True)
    path = tmp_path / "checkpoints" / "step-00000004" / "checkpoint.json"
    expected = {"step": 4, "train_seconds": 2.0, "interim": True, "sources": [], "bleu": None}
    assert json.loads(path.read_text("utf-8")) == expected
