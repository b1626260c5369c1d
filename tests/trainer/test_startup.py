import os
import platform
import subprocess
import sys

import pytest

from trainer.startup import start_tensorflow

ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="oneDNN is asked for on x86 alone")


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that says nothing of threads and oneDNN, nor will after the test."""
    for name in (ONEDNN, "TF_NUM_INTRAOP_THREADS"):
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)
    return monkeypatch


@x86
def test_large_products_go_to_onednn_on_any_x86(unset: pytest.MonkeyPatch) -> None:
    script = """
import os
from trainer.startup import start_tensorflow
start_tensorflow()
from tensorflow.python.util import _pywrap_util_port
print(os.environ["TF_ENABLE_ONEDNN_OPTS"], _pywrap_util_port.IsMklEnabled())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == "1 True\n", run.stderr


def test_search_has_one_thread_for_an_operation_and_the_usual_kernels(
    unset: pytest.MonkeyPatch,
) -> None:
    start_tensorflow(for_search=True)
    assert os.environ["TF_NUM_INTRAOP_THREADS"] == "1"
    assert ONEDNN not in os.environ


@pytest.mark.parametrize("for_search", [False, True])
def test_what_the_user_set_stays(unset: pytest.MonkeyPatch, for_search: bool) -> None:
    unset.setenv(ONEDNN, "0")
    unset.setenv("TF_NUM_INTRAOP_THREADS", "3")
    start_tensorflow(for_search=for_search)
    assert (os.environ[ONEDNN], os.environ["TF_NUM_INTRAOP_THREADS"]) == ("0", "3")
