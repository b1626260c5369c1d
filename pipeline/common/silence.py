"""Standard error without the notices of C++ libraries."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

SILENT = "3"  # of TF_CPP_MIN_LOG_LEVEL


@contextlib.contextmanager
def silent_tensorflow() -> Iterator[None]:
    """Silences TensorFlow's start-up notices, even those it writes before it reads its log level.

    Set TF_CPP_MIN_LOG_LEVEL below 3 to see them; child processes inherit the setting.
    """
    verbose = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", SILENT) != SILENT
    with contextlib.nullcontext() if verbose else silent_stderr():
        yield


@contextlib.contextmanager
def silent_stderr() -> Iterator[None]:
    """Captures standard error, including that of C++ code; prints it only after an error."""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as captured:
        os.dup2(captured.fileno(), 2)
        try:
            yield
        except Exception:
            captured.seek(0)
            os.write(saved, captured.read())
            raise
        finally:
            os.dup2(saved, 2)
            os.close(saved)
