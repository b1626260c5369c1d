"""The files of a SavedModel, and their copy on this machine if they are in an object store.

TensorFlow reads few stores by itself, so a SavedModel at a URL is fetched whole before it is
loaded. The copy stays in the folder for temporary files: every process of a machine uses it.
"""

import hashlib
import shutil
import tempfile
from pathlib import Path

from pipeline.common import storage
from pipeline.common.errors import UserError

_GRAPH = "saved_model.pb"
_FINGERPRINT = "fingerprint.pb"  # differs between any two exports


def is_saved_model(directory: str) -> bool:
    """Returns whether a directory, or a URL, holds a SavedModel."""
    return storage.is_file(f"{directory}/{_GRAPH}")


def check_saved_model(directory: str) -> None:
    """Checks that a directory, or a URL, holds a SavedModel.

    Raises:
        UserError: it does not; says where there is one, or how to make one.
    """
    if is_saved_model(directory):
        return
    names = storage.entries(directory) if not Path(directory).is_file() else ()
    versions = sorted(name for name in names if is_saved_model(f"{directory}/{name}"))
    if versions:
        remedy = f"did you mean {directory}/{versions[-1]}?"
    elif storage.is_url(directory):
        remedy = "copy there what python -m trainer.export wrote"
    else:
        remedy = f"make one with python -m trainer.export --output_dir={directory} --run_dir=…"
    raise UserError(f"no SavedModel in {directory} (it has no {_GRAPH}): {remedy}")


def read_fingerprint(directory: str) -> bytes:
    """Returns bytes that differ between any two exports.

    Raises:
        UserError: there is no SavedModel.
    """
    check_saved_model(directory)
    return storage.read(f"{directory}/{_FINGERPRINT}")


def fetch_saved_model(directory: str) -> str:
    """Returns a local directory with the SavedModel of `directory`, fetched if that is a URL.

    The copy appears as a whole, and an export that replaces the one at the URL is fetched anew.

    Raises:
        UserError: there is no SavedModel.
    """
    if not storage.is_url(directory):
        check_saved_model(directory)
        return directory
    fingerprint = read_fingerprint(directory)
    name = hashlib.sha256(directory.encode() + b"\n" + fingerprint).hexdigest()[:32]
    copy = Path(tempfile.gettempdir(), "beamformer-saved-models", name)
    if not copy.exists():
        _copy_files(directory, copy)
    return str(copy)


def _copy_files(url: str, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{copy.name}.", dir=copy.parent))
    try:
        for file in storage.sizes(url):
            (unfinished / file).parent.mkdir(parents=True, exist_ok=True)
            storage.write_atomically(unfinished / file, storage.read(f"{url}/{file}"))
        unfinished.rename(copy)
    except OSError:
        if not copy.exists():  # else another process was first
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
