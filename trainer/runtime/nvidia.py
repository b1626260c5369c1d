"""NVIDIA GPUs of this machine, whether or not TensorFlow finds them."""

import os
from pathlib import Path

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
NO_DEVICE = "-1"
ROOT = Path("/")  # of the file system

# Where a driver shows GPUs: device files, its own list, or under WSL its library.
_SIGNS = ("dev/nvidia[0-9]*", "proc/driver/nvidia/gpus/*", "usr/lib/wsl/lib/libcuda.so.1")


def describe_unused_gpu() -> str | None:
    """Describes a GPU that TensorFlow could use: call it if TensorFlow lists none.

    Returns:
        What was found and what to install; None if the machine has no NVIDIA GPU, or
        CUDA_VISIBLE_DEVICES hides all.
    """
    gpu = _find_gpu()
    if gpu is None or _hides_gpus():
        return None
    return (
        f"found an NVIDIA GPU ({gpu}), but TensorFlow lists none: install its CUDA libraries with "
        "pip install '.[gpu]'; if they are installed, TF_CPP_MIN_LOG_LEVEL=0 shows what is missing"
    )


def _find_gpu() -> Path | None:
    """Returns a file by which a driver shows a GPU."""
    return next((path for sign in _SIGNS for path in sorted(ROOT.glob(sign))), None)


def _hides_gpus() -> bool:
    """Returns whether the environment hides all GPUs from CUDA."""
    return os.environ.get(VISIBLE_DEVICES, "all").strip() in ("", NO_DEVICE)
