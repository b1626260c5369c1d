"""Runs one of our commands on virtual devices of the CPU that stand for GPUs.

    python -m tests.helpers.virtual_devices 4 trainer.task --flagfile=configs/demo.flags

Our code sees that many GPUs, so `make_strategy` returns what users of several GPUs get: a
`MirroredStrategy` over all devices with its own collectives. In a process of its own, because
TensorFlow takes the number of devices only before its first operation.
"""

import runpy
import sys

import tensorflow as tf


def main(number: int, module: str) -> None:
    """Splits the CPU into `number` devices and runs `python -m module …`."""
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * number,
    )
    list_devices = tf.config.list_logical_devices
    tf.config.list_logical_devices = lambda kind=None: list_devices(
        "CPU" if kind == "GPU" else kind
    )
    sys.argv = sys.argv[2:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
