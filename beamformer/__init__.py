"""Beamformer for notebooks and other people's programs: the same work as the commands, as calls.

    import beamformer as bf

    bf.preprocess(output_dir="data/demo")
    translator = bf.train(dataset_dir="data/demo", run_dir="runs/mine", num_layers=2)
    translator.translate(["The old dog sleeps in the garden."])

Arguments have the names, defaults and limits of the commands' flags. A mistake raises `UserError`,
with the line that a command would print; the line names arguments as flags. Nothing here parses a
command line or ends the process, and importing this package loads neither TensorFlow nor Beam:
each name is imported when it is first used.
"""

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from beamformer import layers as layers
    from beamformer.preprocessing import preprocess as preprocess
    from beamformer.training import train as train
    from beamformer.translators import ExportedTranslator as ExportedTranslator
    from beamformer.translators import TrainedTranslator as TrainedTranslator
    from beamformer.translators import load as load
    from model.config import SearchConfig as SearchConfig
    from model.config import TransformerConfig as TransformerConfig
    from model.transformer import Transformer as Transformer
    from pipeline.common.errors import UserError as UserError
    from pipeline.dataset.schema import load_dataset as load_dataset
    from trainer.bulk_translation.translate import Translate as Translate

_MODULES = {
    "ExportedTranslator": "beamformer.translators",
    "SearchConfig": "model.config",
    "TrainedTranslator": "beamformer.translators",
    "Transformer": "model.transformer",
    "Translate": "trainer.bulk_translation.translate",
    "TransformerConfig": "model.config",
    "UserError": "pipeline.common.errors",
    "load": "beamformer.translators",
    "load_dataset": "pipeline.dataset.schema",
    "preprocess": "beamformer.preprocessing",
    "train": "beamformer.training",
}
__all__ = [*_MODULES, "layers"]
_PACKAGES = ("model", "pipeline", "trainer")
_ROOT = Path(__file__).resolve().parents[1]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _check_packages()
    if name == "layers":
        return importlib.import_module("beamformer.layers")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def _check_packages() -> None:
    """Checks that a module of the user's own does not hide a package of this project.

    Raises:
        ImportError: naming the file.
    """
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        folders = spec.submodule_search_locations if spec else None
        if spec and str(_ROOT / package) not in map(_resolve, folders or ()):
            raise ImportError(
                f"found {spec.origin}, expected Beamformer's package {package!r}: rename that file "
                "or folder, or import beamformer where it is not on Python's path; the commands "
                "beamformer-train, beamformer-translate … run beside it"
            )


def _resolve(folder: str) -> str:
    return str(Path(folder).resolve())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
