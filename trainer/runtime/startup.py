"""Starting TensorFlow: the Keras backend, threads and kernels, without start-up notices."""

import contextlib
import functools
import gc
import os
import platform
import sys
from collections.abc import Iterator

from absl import logging

from pipeline.common.errors import UserError
from pipeline.common.silence import SILENT, silent_tensorflow
from trainer.config import TrainingConfig
from trainer.runtime import nvidia

_MAX_PARTS = 4  # each part holds gradients of its own


def start_tensorflow(
    *, for_search: bool = False, for_training: TrainingConfig | None = None
) -> None:
    """Imports TensorFlow and lists its devices, silently; call it before anything imports Keras.

    Threads: without GPUs, callers that run one batch per core (search), or one part of a batch per
    core (training), get one intra-op thread. Kernels: large products use oneDNN on every x86
    processor, which TensorFlow enables by itself only with AVX-512 VNNI or newer; the small
    products of search gain nothing from it. The environment variables TF_NUM_INTRAOP_THREADS and
    TF_ENABLE_ONEDNN_OPTS take precedence.

    GPUs: training stops if the machine has an NVIDIA GPU that TensorFlow does not find; everything
    else warns.

    At start-up, TensorFlow's C++ code writes a page of notices to standard error, including errors
    about absent GPUs. Set TF_CPP_MIN_LOG_LEVEL below 3 to see them; child processes inherit the
    setting. With several workers (TF_CONFIG), `runtime.strategy` initialises the devices instead.

    Args:
        for_search: whether to translate batches on all cores at once (`inference.batching`).
        for_training: the configuration of a training run, which may ask for deterministic
            operations.

    Raises:
        UserError: training would leave a GPU unused.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"
    if for_training and for_training.device == "cpu":
        os.environ[nvidia.VISIBLE_DEVICES] = nvidia.NO_DEVICE
    if not for_search and platform.machine() in ("x86_64", "AMD64"):
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    with silent_tensorflow(), _collecting_no_garbage():
        import tensorflow as tf

        if for_training and for_training.deterministic:
            tf.config.experimental.enable_op_determinism()
        if os.environ["TF_CPP_MIN_LOG_LEVEL"] == SILENT:
            tf.get_logger().setLevel("WARNING")
        has_gpus = bool(tf.config.list_physical_devices("GPU"))
        # Before the devices are initialised, which creates the threads.
        if not has_gpus and (for_search or (for_training and _has_part_per_core(for_training))):
            os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
        if "TF_CONFIG" not in os.environ:
            tf.config.list_logical_devices()
    if not has_gpus:
        _report_unused_gpu(stop=for_training is not None)


@contextlib.contextmanager
def _collecting_no_garbage() -> Iterator[None]:
    """Pauses Python's garbage collector while TensorFlow is imported the first time.

    The import creates many objects, nearly all of which stay. The collector would examine them
    again and again: meanwhile, and in every later full collection, from which they are now exempt.
    """
    if "tensorflow" in sys.modules:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def processor_cores() -> int:
    """Counts the processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_parts_at_once(training: TrainingConfig) -> int:
    """Returns the number of parts of a batch that processor cores compute in parallel.

    Cores that compute parts of their own wait less for one another than cores that share every
    operation (tests/benchmarks/RESULTS.md, 4). XLA distributes its operations itself.
    """
    if training.jit_compile or "TF_CONFIG" in os.environ:
        return 1
    return min(processor_cores(), _MAX_PARTS)


def _has_part_per_core(training: TrainingConfig) -> bool:
    return choose_parts_at_once(training) == processor_cores()


def _report_unused_gpu(*, stop: bool) -> None:
    unused_gpu = nvidia.describe_unused_gpu()
    if unused_gpu and stop:
        raise UserError(f"{unused_gpu}; --device=cpu trains on the CPU")
    if unused_gpu:
        _warn_once(f"{unused_gpu}; {nvidia.VISIBLE_DEVICES}={nvidia.NO_DEVICE} hides the GPU")


@functools.cache
def _warn_once(message: str) -> None:
    logging.warning(message)
