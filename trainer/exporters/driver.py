"""Exporting a run: checks the output directory, loads the weights, writes the model atomically."""

import contextlib
import dataclasses
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from absl import logging

from model.config import SearchConfig
from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags, require, require_choice, required_setting, setting
from pipeline.common.storage import write_atomically
from trainer.config import TrainedModels
from trainer.exporters.result import ExportResult
from trainer.runs.checkpoint_files import Checkpoint
from trainer.runs.run_directory import Run
from trainer.runtime.startup import start_tensorflow

_EXPORT_FILE = "export.json"  # marks a directory that may be replaced


@dataclasses.dataclass(frozen=True)
class ExportTarget:
    """What to export, and where to.

    Raises:
        ValueError: if the format has no such weights, or the directory is a URL.
    """

    output_dir: str = required_setting(
        "New directory for the model; an earlier export there is replaced."
    )
    format: Literal["saved_model", "ctranslate2"] = setting(
        "saved_model",
        "A SavedModel for TensorFlow and TF Serving, or a directory for CTranslate2 (pip install "
        "'.[ctranslate2]').",
    )
    weights: Literal["float32", "bfloat16", "float16", "int8"] = setting(
        "float32",
        "Type in which weights are stored; int8 for CTranslate2 only. A SavedModel computes in "
        "float32 whatever the stored type.",
    )

    def __post_init__(self) -> None:
        require(
            not storage.is_url(self.output_dir),
            "a folder of a file system; copy what is written there into the store afterwards",
            as_flags(self, "output_dir"),
        )
        require_choice(self, "format", "weights")
        require(
            (self.format, self.weights) != ("saved_model", "int8"),
            "float32, bfloat16 or float16 in a SavedModel; --format=ctranslate2 has int8",
            as_flags(self, "weights", "format"),
        )

    def check_models(self, models: TrainedModels) -> None:
        """Raises UserError if the format cannot hold that many models."""
        if self.format == "ctranslate2" and models.ensemble:
            raise UserError(
                "received --ensemble and --format=ctranslate2, which holds one model: leave one out"
            )


def export_run(
    run: Run, models: TrainedModels, search: SearchConfig, target: ExportTarget
) -> ExportResult:
    """Writes a model to `target.output_dir`, which appears as a whole, and export.json within.

    Args:
        run: that of `models`, the first of an ensemble.
        models: which weights.
        search: how the exported model translates.
        target: where to, and the format.

    Returns:
        the content of export.json.

    Raises:
        UserError: the directory holds something else, or the format cannot express the model, or
            the disk is full.
    """
    output_dir = Path(target.output_dir)
    with _reserve(output_dir) as temporary:
        checkpoint = _write_model(run, models, search, target, temporary)
        size = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
        result = ExportResult(
            format=target.format,
            output_dir=str(output_dir),
            weights=target.weights,
            bytes=size,
            run_dir=models.run_dir,
            ensemble=models.ensemble,
            step=checkpoint.step,
            averaged_steps=tuple(checkpoint.sources),
            source_language=run.data.source_language,
            target_language=run.data.target_language,
            search=search,
        )
        text = json.dumps(result.to_json(), indent=1) + "\n"
        write_atomically(str(temporary / _EXPORT_FILE), text.encode())
        shutil.rmtree(output_dir, ignore_errors=True)
        os.replace(temporary, output_dir)
    return result


@contextlib.contextmanager
def _reserve(output_dir: Path) -> Iterator[Path]:
    """Yields a temporary path beside the output, which does not exist but can be created.

    TensorFlow fails with a traceback where it cannot write, so this is tried beforehand. What is
    left there at the end, after a failure, is deleted.
    """
    if output_dir.exists() and not (output_dir / _EXPORT_FILE).exists():
        raise UserError(
            f"{output_dir} exists and is not an exported model: expected a new directory or an "
            "earlier export; choose another --output_dir"
        )
    temporary = output_dir.with_name(f".{output_dir.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    temporary.rmdir()
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_model(
    run: Run, models: TrainedModels, search: SearchConfig, target: ExportTarget, directory: Path
) -> Checkpoint:
    """Writes the model in the format of `target`; returns the checkpoint it was loaded from."""
    start_tensorflow()
    from trainer.exporters.ctranslate2 import save_ctranslate2
    from trainer.exporters.saved_model import save_translator
    from trainer.inference.translator import load_translator
    from trainer.runtime.error_messages import explain_full_disk

    translator, checkpoint = load_translator(run, models, search)
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)  # TensorFlow reports every renamed input
    try:
        with explain_full_disk(target.output_dir, "free some space"):
            if target.format == "ctranslate2":
                save_ctranslate2(run, translator, directory, weights=target.weights)
            else:
                save_translator(translator, directory, weights=target.weights)
    finally:
        logging.set_verbosity(verbosity)
    return checkpoint
