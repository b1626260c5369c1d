"""A GPU that TensorFlow does not find: training stops, other commands warn."""

from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset
from tests.helpers.commands import refuse
from tests.helpers.tiny_run import training_flags
from trainer.config import TrainingConfig
from trainer.runtime import nvidia, startup
from trainer.runtime.startup import start_tensorflow

SIGNS = [
    "dev/nvidia0",
    "dev/nvidia3",  # of several, in a container that has this one
    "proc/driver/nvidia/gpus/0000:3b:00.0",
    "usr/lib/wsl/lib/libcuda.so.1",
]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Gives the machine a file of a driver, and its user no opinion about GPUs."""
    monkeypatch.delenv(nvidia.VISIBLE_DEVICES, raising=False)
    monkeypatch.setattr(nvidia, "ROOT", tmp_path)
    startup._warn_once.cache_clear()

    def add(sign: str) -> None:
        (tmp_path / sign).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / sign).touch()

    return add


@pytest.mark.parametrize("sign", SIGNS)
def test_a_gpu_is_seen_by_what_its_driver_shows(machine: Callable[[str], None], sign: str) -> None:
    assert nvidia.describe_unused_gpu() is None
    machine(sign)
    text = nvidia.describe_unused_gpu()
    assert text and sign in text and "pip install '.[gpu]'" in text


@pytest.mark.parametrize("other", ["dev/nvidiactl", "dev/dri/card0", "dev/dxg"])
def test_other_files_of_drivers_show_no_gpu(machine: Callable[[str], None], other: str) -> None:
    machine(other)
    assert nvidia.describe_unused_gpu() is None


@pytest.mark.parametrize(("visible", "chose_cpu"), [("", True), ("-1", True), ("0", False)])
def test_hidden_gpus_are_the_users_choice(
    machine: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    visible: str,
    chose_cpu: bool,
) -> None:
    machine("dev/nvidia0")
    monkeypatch.setenv(nvidia.VISIBLE_DEVICES, visible)
    assert (nvidia.describe_unused_gpu() is None) == chose_cpu


def test_training_stops_unless_it_is_told_to_use_the_cpu(
    machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    start_tensorflow(for_training=TrainingConfig())
    machine("dev/nvidia0")
    with pytest.raises(UserError, match="TensorFlow lists none.*; --device=cpu trains on the CPU"):
        start_tensorflow(for_training=TrainingConfig())
    monkeypatch.setenv(nvidia.VISIBLE_DEVICES, "0")  # so that it is restored
    start_tensorflow(for_training=TrainingConfig(device="cpu"))


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_training_command_stops_with_one_line(
    machine: Callable[[str], None], tiny_dataset: Dataset, tmp_path: Path, dry_run: bool
) -> None:
    machine("dev/nvidia0")
    run_dir = tmp_path / "run"
    line = refuse(
        "trainer.task", *training_flags(Path(tiny_dataset.directory), run_dir),
        f"--dry_run={str(dry_run).lower()}",
    )  # fmt: skip
    assert "pip install '.[gpu]'" in line
    assert not run_dir.exists()


def test_other_commands_warn_once(
    machine: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    machine("dev/nvidia0")
    with caplog.at_level("WARNING", "absl"):
        start_tensorflow(for_search=True)
        start_tensorflow()
    (record,) = caplog.records
    assert record.getMessage().endswith("; CUDA_VISIBLE_DEVICES=-1 hides the GPU")


def test_a_gpu_that_tensorflow_finds_is_not_reported(
    machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("dev/nvidia0")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    start_tensorflow(for_training=TrainingConfig())
