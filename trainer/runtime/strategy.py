"""The devices to train on: one, several of one machine, or several machines (§5.2).

With several machines the same command runs on each, and TF_CONFIG says which one it is. These
processes are the workers. One of them, the chief, writes the run directory, which all can read.
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
    """Returns the strategy for the available devices; waits for all workers, if several.

    If TF_CONFIG is set, `MultiWorkerMirroredStrategy`; with several visible GPUs,
    `MirroredStrategy` over all; else the default strategy of one device.

    Raises:
        UserError: if TF_CONFIG does not describe workers.
    """
    if TF_CONFIG in os.environ:
        workers = _count_workers(os.environ[TF_CONFIG])
        logging.info("waiting for %d workers", workers)
        return tf.distribute.MultiWorkerMirroredStrategy()
    gpus = tf.config.list_logical_devices("GPU")
    return tf.distribute.MirroredStrategy() if len(gpus) > 1 else tf.distribute.get_strategy()


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Returns whether this process writes checkpoints, metrics and results."""
    workers = strategy.cluster_resolver
    if workers is None or workers.task_type is None:
        return True
    has_chief = "chief" in workers.cluster_spec().jobs
    return workers.task_type == "chief" or (not has_chief and workers.task_id == 0)


def sum_over_replicas(strategy: tf.distribute.Strategy, value: float) -> float:
    """Adds up `value` over all replicas of all workers; each worker calls it with its own value."""
    if strategy.cluster_resolver is None:
        return value * strategy.num_replicas_in_sync
    return float(_adder(strategy)(tf.constant(value, tf.float64)))


Sum = Callable[[tf.distribute.Strategy, float], float]


def any_worker(
    strategy: tf.distribute.Strategy, here: bool, *, add_up: Sum = sum_over_replicas
) -> bool:
    """Returns, on all workers, whether `here` is true on any; every worker must call it."""
    return add_up(strategy, float(here)) > 0


def require_same_step(
    strategy: tf.distribute.Strategy, step: int, *, add_up: Sum = sum_over_replicas
) -> None:
    """Checks that all workers resume from the same step.

    Raises:
        UserError: on all workers, if they do not.
    """
    replicas = strategy.num_replicas_in_sync
    same = add_up(strategy, float(step)) == float(step) * replicas
    if any_worker(strategy, not same, add_up=add_up):
        raise UserError(
            f"the workers do not read the same checkpoints (here step {step}): expected a "
            "--run_dir on a file system that they all share"
        )


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
    """Counts the workers of TF_CONFIG, whose mistakes make TensorFlow hang or fail obscurely."""
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
            "with a different index on each machine"
        ) from error
    return sum(len(addresses) for addresses in cluster.values())
