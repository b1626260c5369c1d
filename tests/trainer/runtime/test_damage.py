import shutil
from pathlib import Path

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset, load_dataset
from trainer.data.input_pipeline import evaluation_batches, make_buckets, training_batches
from trainer.runtime.damage import damage_explained


@pytest.fixture
def dataset(tiny_dataset: Dataset, tmp_path: Path) -> Dataset:
    """A copy that may be damaged."""
    shutil.copytree(tiny_dataset.directory, tmp_path / "copy")
    return load_dataset(tmp_path / "copy")


def damage(dataset: Dataset, split: str, position: int) -> str:
    """Flips a bit of one byte of a shard; returns the path of the shard."""
    path = Path(dataset.path(dataset.splits[split].shards[1].path))
    data = bytearray(path.read_bytes())
    data[position] ^= 4
    path.write_bytes(data)
    return str(path)


def read(dataset: Dataset, split: str) -> None:
    buckets = make_buckets(dataset, split, tokens_per_batch=60, parts=1)
    batches = evaluation_batches(buckets) if split == "dev" else training_batches(buckets, seed=1)
    for _ in zip(range(300), batches, strict=False):  # several epochs
        pass


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize("position", [0, 7, 9, 12, 30, -30, -1])
def test_a_flipped_byte_is_noticed_and_its_file_named(
    dataset: Dataset, split: str, position: int
) -> None:
    path = damage(dataset, split, position)
    with pytest.raises(UserError, match=f"{path} is damaged at record"), damage_explained(dataset):
        read(dataset, split)


def test_nothing_is_said_about_intact_shards(dataset: Dataset) -> None:
    with damage_explained(dataset):
        read(dataset, "train")


def test_damage_that_is_gone_keeps_tensorflows_error(dataset: Dataset) -> None:
    with pytest.raises(tf.errors.DataLossError), damage_explained(dataset):
        raise tf.errors.DataLossError(None, None, "corrupted record at 0")


@pytest.mark.parametrize("kind", ["train", "dev", "."])
def test_what_is_gone_is_named(dataset: Dataset, kind: str) -> None:
    lost = Path(dataset.directory) / kind
    lost.rename(lost.with_name("elsewhere") if kind != "." else f"{dataset.directory}-elsewhere")
    gone = pytest.raises(UserError, match=f"lost the dataset .*{dataset.directory}.* once it is")
    with gone, damage_explained(dataset):
        read(dataset, "dev" if kind == "dev" else "train")


def test_a_loss_elsewhere_keeps_tensorflows_error(dataset: Dataset) -> None:
    with pytest.raises(tf.errors.NotFoundError), damage_explained(dataset):
        raise tf.errors.NotFoundError(None, None, "/elsewhere; No such file or directory")


def test_other_errors_pass_through(dataset: Dataset) -> None:
    damage(dataset, "train", 0)
    with pytest.raises(ZeroDivisionError), damage_explained(dataset):
        raise ZeroDivisionError
