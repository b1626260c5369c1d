"""Starting TensorFlow: on the right Keras backend and without its start-up chatter."""

import contextlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator

_SILENT = "3"


def start_tensorflow(*, for_search: bool = False) -> None:
    """Imports TensorFlow and finds its devices, silently; call it before anything imports Keras.

    `for_search` is for those who keep all processor cores busy themselves, with a batch each
    (`trainer.translation.translate_all`): each operation has one thread. All others' large products
    go to oneDNN on every x86 processor; TensorFlow does that only with AVX-512 VNNI or newer. The
    small products of search are no quicker there. TF_NUM_INTRAOP_THREADS and TF_ENABLE_ONEDNN_OPTS,
    if set, decide instead.

    With several workers (TF_CONFIG) the devices wait for `trainer.strategy`, which must be first.
    Its C++ side writes a page of notices to standard error at every start, errors about absent GPUs
    among them. Whoever wants to read them sets TF_CPP_MIN_LOG_LEVEL to less than 3, which is what
    processes that we start find there.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"
    if for_search:
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    elif platform.machine() in ("x86_64", "AMD64"):
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    chatty = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", _SILENT) != _SILENT
    with contextlib.nullcontext() if chatty else silent_stderr():
        import tensorflow as tf

        if not chatty:
            tf.get_logger().setLevel("WARNING")
        if "TF_CONFIG" not in os.environ:
            tf.config.list_logical_devices()


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
