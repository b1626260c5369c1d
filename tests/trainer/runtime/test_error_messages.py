import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset, load_dataset
from trainer.config import TrainingConfig
from trainer.data.buckets import make_buckets
from trainer.data.input_pipeline import evaluation_batches, training_batches
from trainer.runtime.error_messages import explain_dataset_errors, explain_training_errors

TRAINING = TrainingConfig(run_dir="runs/a", tokens_per_batch=777, gradient_accumulation=3)


def exhaust_memory() -> None:
    tf.zeros((2**58,), tf.int8)  # no machine has an exbibyte to give


def fill_the_disk() -> None:
    raise tf.errors.ResourceExhaustedError(None, None, "runs/a/x; No space left on device\nmore")


def fill_the_disk_of_a_log() -> None:
    raise OSError(28, "No space left on device")


def fill_the_disk_of_a_file() -> None:
    raise OSError(28, "No space left on device", "runs/a/run.json")


def lose_a_worker() -> None:
    raise tf.errors.UnavailableError(None, None, "Socket closed\nand more")


def stop_without_a_worker() -> None:
    raise tf.errors.AbortedError(None, None, "worker 1 has been declared lost\nand more")


@pytest.mark.parametrize(
    ("fail", "expected"),
    [
        (exhaust_memory, "out of memory with --tokens_per_batch=777 .*double --gradient_accumu"),
        (fill_the_disk, "cannot write to runs/a: No space left on device; .* same command again"),
        (fill_the_disk_of_a_log, "cannot write to runs/a: No space left on device; .* same com"),
        (fill_the_disk_of_a_file, "cannot write to runs/a/run.json: No space left on device; .*"),
        (lose_a_worker, "lost another worker; run the same command again, on all"),
        (stop_without_a_worker, "lost another worker; run the same command again, on all"),
    ],
)
def test_a_failure_says_what_to_do(
    fail: Callable[[], None], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", "{}")
    with pytest.raises(UserError, match=expected) as explained, explain_training_errors(TRAINING):
        fail()
    assert "\n" not in str(explained.value)


def test_without_workers_a_lost_connection_is_no_worker() -> None:
    expected = r"lost a connection \(Socket closed\); run the same"
    with pytest.raises(UserError, match=expected), explain_training_errors(TRAINING):
        lose_a_worker()


@pytest.mark.parametrize("error", [ZeroDivisionError(), FileNotFoundError(2, "No such file", "a")])
def test_other_errors_pass_through(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, explain_training_errors(TRAINING):
        raise error
    assert raised.value is error


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
    with (
        pytest.raises(UserError, match=f"{path} is damaged at record"),
        explain_dataset_errors(dataset),
    ):
        read(dataset, split)


def test_nothing_is_said_about_intact_shards(dataset: Dataset) -> None:
    with explain_dataset_errors(dataset):
        read(dataset, "train")


def test_damage_that_is_gone_keeps_tensorflows_error(dataset: Dataset) -> None:
    with pytest.raises(tf.errors.DataLossError), explain_dataset_errors(dataset):
        raise tf.errors.DataLossError(None, None, "corrupted record at 0")


@pytest.mark.parametrize("kind", ["train", "dev", "."])
def test_what_is_gone_is_named(dataset: Dataset, kind: str) -> None:
    lost = Path(dataset.directory) / kind
    lost.rename(lost.with_name("elsewhere") if kind != "." else f"{dataset.directory}-elsewhere")
    gone = pytest.raises(UserError, match=f"lost the dataset .*{dataset.directory}.* once it is")
    with gone, explain_dataset_errors(dataset):
        read(dataset, "dev" if kind == "dev" else "train")


def test_a_loss_elsewhere_keeps_tensorflows_error(dataset: Dataset) -> None:
    with pytest.raises(tf.errors.NotFoundError), explain_dataset_errors(dataset):
        raise tf.errors.NotFoundError(None, None, "/elsewhere; No such file or directory")


def test_other_errors_of_a_dataset_pass_through(dataset: Dataset) -> None:
    damage(dataset, "train", 0)
    with pytest.raises(ZeroDivisionError), explain_dataset_errors(dataset):
        raise ZeroDivisionError
