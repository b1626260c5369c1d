"""Where a model is trained: one device, several of one machine, or several machines (§5.2).

With several machines the same command runs on each, and TF_CONFIG says which of them it is. These
processes are the workers; one, the chief, writes the run directory, which all can read.
"""

import functools
import json
import os
from collections.abc import Callable

import tensorflow as tf
from absl import logging

from pipeline.common.errors import UserError

TF_CONFIG = "TF_CONFIG"


def make_strategy() -> tf.distribute.Strategy:
    """Returns the strategy that fits what there is; with several workers, waits for them all.

    TF_CONFIG, when it is set, means `MultiWorkerMirroredStrategy`; several visible GPUs mean
    `MirroredStrategy` over all of them; else there is one device.

    Raises:
        UserError: if TF_CONFIG is not a description of workers.
    """
    if TF_CONFIG in os.environ:
        workers = _count_workers(os.environ[TF_CONFIG])
        logging.info("waiting for %d workers", workers)
        return tf.distribute.MultiWorkerMirroredStrategy()
    gpus = tf.config.list_logical_devices("GPU")
    return tf.distribute.MirroredStrategy() if len(gpus) > 1 else tf.distribute.get_strategy()


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Returns whether this process is the one that writes checkpoints, figures and results."""
    workers = strategy.cluster_resolver
    if workers is None or workers.task_type is None:
        return True
    has_chief = "chief" in workers.cluster_spec().jobs
    return workers.task_type == "chief" or (not has_chief and workers.task_id == 0)


def any_worker(strategy: tf.distribute.Strategy, here: bool) -> bool:
    """Returns whether `here` is true on any worker; each must ask, and all get the same answer."""
    return _sum_over_workers(strategy, float(here)) > 0


def require_same_step(strategy: tf.distribute.Strategy, step: int) -> None:
    """Raises UserError on all workers unless all would go on from the same step."""
    replicas = strategy.num_replicas_in_sync
    same = _sum_over_workers(strategy, float(step)) == float(step) * replicas
    if any_worker(strategy, not same):
        raise UserError(
            f"the workers do not read the same checkpoints (here step {step}): expected a "
            "--run_dir on a file system that they all share"
        )


def _sum_over_workers(strategy: tf.distribute.Strategy, value: float) -> float:
    """Adds up `value` over all replicas; those of one worker have the same."""
    if strategy.cluster_resolver is None:
        return value * strategy.num_replicas_in_sync
    return float(_adder(strategy)(tf.constant(value, tf.float64)))


@functools.cache
def _adder(strategy: tf.distribute.Strategy) -> Callable[[tf.Tensor], tf.Tensor]:
    def on_replica(here: tf.Tensor) -> tf.Tensor:
        replicas = tf.distribute.get_replica_context()
        return replicas.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(here))

    @tf.function(autograph=False)
    def add_up(here: tf.Tensor) -> tf.Tensor:
        return strategy.experimental_local_results(strategy.run(on_replica, (here,)))[0]

    return add_up


def _count_workers(text: str) -> int:
    """Checks TF_CONFIG, which TensorFlow would wait or fail obscurely over."""
    try:
        values = json.loads(text)
        cluster, task = values["cluster"], values["task"]
        cluster[task["type"]][int(task["index"])]
        if not cluster.keys() <= {"chief", "worker"}:
            raise ValueError(f"jobs {sorted(cluster)}")
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise UserError(
            f"{TF_CONFIG} does not describe this worker ({error!r}): expected "
            '{"cluster": {"worker": ["HOST:PORT", …]}, "task": {"type": "worker", "index": 0}}, '
            "with another index on each machine"
        ) from error
    return sum(len(addresses) for addresses in cluster.values())
