import json
import os
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from trainer.runtime.strategy import any_worker, is_chief, make_strategy, require_same_step

WORKERS = {"worker": ["a:1", "b:1"]}


def test_without_gpus_and_workers_there_is_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert make_strategy() is tf.distribute.get_strategy()


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "{}",
        json.dumps({"cluster": WORKERS}),
        json.dumps({"cluster": WORKERS, "task": {"type": "worker", "index": 2}}),
        json.dumps({"cluster": WORKERS, "task": {"type": "chief", "index": 0}}),
        json.dumps({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}),
    ],
)
def test_a_tf_config_that_describes_no_worker_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setitem(os.environ, "TF_CONFIG", text)
    with pytest.raises(UserError, match="TF_CONFIG does not describe this worker .*expected") as e:
        make_strategy()
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("cluster", "task", "expected"),
    [
        (WORKERS, ("worker", 0), True),
        (WORKERS, ("worker", 1), False),
        ({"chief": ["c:1"], **WORKERS}, ("worker", 0), False),
        ({"chief": ["c:1"], **WORKERS}, ("chief", 0), True),
    ],
)
def test_one_worker_is_the_chief(
    cluster: dict[str, list[str]], task: tuple[str, int], expected: bool
) -> None:
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), task_type=task[0], task_id=task[1]
    )
    several: Any = SimpleNamespace(cluster_resolver=resolver)
    assert is_chief(several) == expected


def test_a_process_alone_is_the_chief_and_decides_alone(eight_cpus: list[str]) -> None:
    mirrored = tf.distribute.MirroredStrategy(
        eight_cpus[:2], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    for alone in (tf.distribute.get_strategy(), mirrored):
        assert is_chief(alone)
        assert any_worker(alone, True)
        assert not any_worker(alone, False)
        require_same_step(alone, 7)


def test_what_one_worker_says_holds_for_all() -> None:
    """Two workers, of which the other one has said yes."""
    several: Any = SimpleNamespace(num_replicas_in_sync=2)
    assert any_worker(several, False, add_up=lambda _, value: value + 1.0)


def test_workers_that_would_resume_from_different_steps_are_refused() -> None:
    """Two workers, of which the other one has found no checkpoint."""
    several: Any = SimpleNamespace(num_replicas_in_sync=2)
    with pytest.raises(UserError, match=r"\(here step 7\): expected a --run_dir .* all share"):
        require_same_step(several, 7, add_up=lambda _, value: value)
