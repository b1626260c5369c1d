import os
import platform
import subprocess
import sys
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework.config import disable_op_determinism, is_op_determinism_enabled

from trainer.config import TrainingConfig
from trainer.runtime.startup import choose_parts_at_once, start_tensorflow

ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="oneDNN is asked for on x86 alone")


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing of threads and oneDNN, nor will after the test."""
    for name in (ONEDNN, "TF_NUM_INTRAOP_THREADS"):
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)
    return monkeypatch


@x86
def test_large_products_go_to_onednn_on_any_x86(unset: pytest.MonkeyPatch) -> None:
    script = """
import os
from trainer.runtime.startup import start_tensorflow
start_tensorflow()
from tensorflow.python.util import _pywrap_util_port
print(os.environ["TF_ENABLE_ONEDNN_OPTS"], _pywrap_util_port.IsMklEnabled())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == "1 True\n", run.stderr


def test_the_import_is_neither_interrupted_by_garbage_collection_nor_examined_later() -> None:
    script = """
import gc
from trainer.runtime.startup import start_tensorflow
collections = []
gc.callbacks.append(lambda *_: collections.append(gc.get_freeze_count()))
start_tensorflow()
frozen = gc.get_freeze_count()
start_tensorflow()
print(collections.count(0) < 10, frozen > 100_000, gc.get_freeze_count() == frozen, gc.isenabled())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == "True True True True\n", run.stderr


def test_search_has_one_thread_for_an_operation_and_the_usual_kernels(
    unset: pytest.MonkeyPatch,
) -> None:
    start_tensorflow(for_search=True)
    assert os.environ["TF_NUM_INTRAOP_THREADS"] == "1"
    assert ONEDNN not in os.environ


@pytest.mark.parametrize(
    ("cores", "training", "parts"),
    [
        (1, TrainingConfig(), 1),
        (2, TrainingConfig(), 2),
        (4, TrainingConfig(), 4),
        (64, TrainingConfig(), 4),
        (2, TrainingConfig(jit_compile=True), 1),
        (2, TrainingConfig(mixed_precision="bfloat16"), 2),
    ],
)
def test_each_core_computes_its_part_of_a_batch_on_one_thread(
    unset: pytest.MonkeyPatch, cores: int, training: TrainingConfig, parts: int
) -> None:
    unset.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert choose_parts_at_once(training) == parts
    start_tensorflow(for_training=training)
    assert os.environ.get("TF_NUM_INTRAOP_THREADS") == ("1" if cores == parts else None)


@pytest.mark.parametrize("deterministic", [False, True])
def test_tensorflow_is_asked_for_deterministic_operations(
    unset: pytest.MonkeyPatch, deterministic: bool
) -> None:
    try:
        start_tensorflow(for_training=TrainingConfig(deterministic=deterministic))
        assert is_op_determinism_enabled() == deterministic
    finally:
        disable_op_determinism()


@pytest.mark.parametrize("options", [{"for_search": True}, {"for_training": TrainingConfig()}])
def test_beside_a_gpu_an_operation_has_all_threads(
    unset: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    unset.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    unset.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    start_tensorflow(**options)
    assert "TF_NUM_INTRAOP_THREADS" not in os.environ


def test_a_worker_of_several_computes_a_batch_as_a_whole(unset: pytest.MonkeyPatch) -> None:
    unset.setenv("TF_CONFIG", "{}")
    assert choose_parts_at_once(TrainingConfig()) == 1


@pytest.mark.parametrize("options", [{}, {"for_search": True}, {"for_training": TrainingConfig()}])
def test_what_the_user_set_stays(unset: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    unset.setenv(ONEDNN, "0")
    unset.setenv("TF_NUM_INTRAOP_THREADS", "3")
    start_tensorflow(**options)
    assert (os.environ[ONEDNN], os.environ["TF_NUM_INTRAOP_THREADS"]) == ("0", "3")
