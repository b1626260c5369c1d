"""What every test runs under: the TensorFlow backend on the CPU, quietly."""

import os
import signal
from pathlib import Path

# Read when TensorFlow and Keras are first imported, hence before any test module is.
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # as in training, with which tests compare to the bit
os.environ["TF_NUM_INTRAOP_THREADS"] = "1"

import pytest

NUM_CPUS = 8

# Some tests interrupt themselves or another process. A shell's background job ignores SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _cpu_devices(request: pytest.FixtureRequest) -> None:
    """Splits the CPU into eight devices if a collected test asks for `eight_cpus`.

    TensorFlow takes the number of devices only before its first operation, so this cannot wait
    for that test. Other tests stay on the first device; but a strategy made without naming its
    devices spans all eight.
    """
    tests = request.session.items
    if any("eight_cpus" in getattr(test, "fixturenames", ()) for test in tests):
        import tensorflow as tf

        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0],
            [tf.config.LogicalDeviceConfiguration()] * NUM_CPUS,
        )


@pytest.fixture(scope="session")
def eight_cpus() -> list[str]:
    """Names of eight logical CPU devices, for `tf.distribute.MirroredStrategy(eight_cpus)`."""
    return [f"CPU:{index}" for index in range(NUM_CPUS)]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The optional folder of real corpora beside the repository; skips the test without it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real corpora: this test reads the optional folder ../shared/data")
    return folder
