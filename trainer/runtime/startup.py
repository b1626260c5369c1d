"""Starting TensorFlow: on the right Keras backend and without its start-up chatter."""

import contextlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator

from trainer.config import TrainingConfig

_SILENT = "3"
_MOST_PARTS = 4  # as each has gradients of its own


def start_tensorflow(
    *, for_search: bool = False, for_training: TrainingConfig | None = None
) -> None:
    """Imports TensorFlow and finds its devices, silently; call it before anything imports Keras.

    Callers that run one batch per core (`for_search`: `inference.batching.translate_all`), or a
    part of one (`for_training`), set one intra-op thread. Large products go to oneDNN on every x86
    processor; by default TensorFlow does that only with AVX-512 VNNI or newer. The small products
    of search are no faster there.
    TF_NUM_INTRAOP_THREADS and TF_ENABLE_ONEDNN_OPTS, if set, decide instead.

    With several workers (TF_CONFIG) `trainer.runtime.strategy` must initialise the devices first.
    Its C++ side writes a page of notices to standard error at every start, errors about absent GPUs
    among them. Whoever wants to read them sets TF_CPP_MIN_LOG_LEVEL to less than 3, which is what
    processes that we start find there.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"
    if for_search or (for_training and parts_at_once(for_training) == processor_cores()):
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    if not for_search and platform.machine() in ("x86_64", "AMD64"):
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    chatty = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", _SILENT) != _SILENT
    with contextlib.nullcontext() if chatty else silent_stderr():
        import tensorflow as tf

        if not chatty:
            tf.get_logger().setLevel("WARNING")
        if "TF_CONFIG" not in os.environ:
            tf.config.list_logical_devices()


def processor_cores() -> int:
    """Counts the processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parts_at_once(training: TrainingConfig) -> int:
    """Returns in how many parts processor cores compute a batch side by side.

    They wait less for one another than where they share each operation. XLA shares for itself;
    bfloat16 was slower so (tests/benchmarks/RESULTS.md, 4).
    """
    if training.jit_compile or training.mixed_precision != "none" or "TF_CONFIG" in os.environ:
        return 1
    return min(processor_cores(), _MOST_PARTS)


@contextlib.contextmanager
def silent_stderr() -> Iterator[None]:
    """Holds back what even C++ code writes to standard error; shows it after an exception."""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held_back:
        os.dup2(held_back.fileno(), 2)
        try:
            yield
        except BaseException:
            held_back.seek(0)
            os.write(saved, held_back.read())
            raise
        finally:
            os.dup2(saved, 2)
            os.close(saved)
