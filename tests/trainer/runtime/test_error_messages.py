from collections.abc import Callable

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from trainer.config import TrainingConfig
from trainer.runtime.error_messages import failures_explained

TRAINING = TrainingConfig(run_dir="runs/a", tokens_per_batch=777, gradient_accumulation=3)


def exhaust_memory() -> None:
    tf.zeros((2**58,), tf.int8)  # no machine has an exbibyte to give


def fill_the_disk() -> None:
    raise tf.errors.ResourceExhaustedError(None, None, "runs/a/x; No space left on device\nmore")


def lose_a_worker() -> None:
    raise tf.errors.UnavailableError(None, None, "Socket closed\nand more")


def stop_without_a_worker() -> None:
    raise tf.errors.AbortedError(None, None, "worker 1 has been declared lost\nand more")


@pytest.mark.parametrize(
    ("fail", "expected"),
    [
        (exhaust_memory, "out of memory with --tokens_per_batch=777 .*double --gradient_accumu"),
        (fill_the_disk, "cannot write to runs/a: No space left on device; .* same command again"),
        (lose_a_worker, "lost another worker; start the same command again, on all"),
        (stop_without_a_worker, "lost another worker; start the same command again, on all"),
    ],
)
def test_a_failure_says_what_to_do(
    fail: Callable[[], None], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", "{}")
    with pytest.raises(UserError, match=expected) as explained, failures_explained(TRAINING):
        fail()
    assert "\n" not in str(explained.value)


def test_without_workers_a_lost_connection_is_no_worker() -> None:
    expected = r"lost a connection \(Socket closed\); start the same"
    with pytest.raises(UserError, match=expected), failures_explained(TRAINING):
        lose_a_worker()


def test_other_errors_pass_through() -> None:
    with pytest.raises(ZeroDivisionError), failures_explained(TRAINING):
        raise ZeroDivisionError
