"""Exporting a run: checks the output directory, loads the weights, writes the model atomically."""

import contextlib
import dataclasses
import json
import os
import shutil
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal

from absl import logging

from model.config import AlignmentConfig, SearchConfig
from model.kernels.target import Target, trace_for
from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.settings import (
    as_flags,
    require,
    require_choice,
    require_range,
    required_setting,
    setting,
)
from pipeline.common.storage import write_atomically
from trainer.exporters.result import DEFAULT_MAX_BATCH, EXPORT_FILE, ExportResult
from trainer.runs.checkpoint_files import Checkpoint
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModels
from trainer.runtime.startup import start_tensorflow

_LIBRARIES = ("tensorflow", "tensorflow-text", "keras", "sentencepiece", "ctranslate2")
_DEFAULT_ALIGNMENT = AlignmentConfig()


@dataclasses.dataclass(frozen=True)
class ExportConfig:
    """What to export, and where to.

    Raises:
        ValueError: if the format has no such weights or no target, or the directory is a URL.
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
    target: Target = setting(
        "cpu",
        "Kind of processor that a SavedModel is laid out for; on the other kind it gives the same "
        "translations, more slowly. The machine that exports makes no difference.",
    )
    max_batch: int = setting(
        DEFAULT_MAX_BATCH,
        "Most sentences in a request to a SavedModel, which bounds its memory; a larger request is "
        "refused. TF Serving splits it beforehand (serving/batching.config).",
    )

    def __post_init__(self) -> None:
        require(
            not storage.is_url(self.output_dir),
            "a folder of a file system; copy what is written there into the store afterwards",
            as_flags(self, "output_dir"),
        )
        require_choice(self, "format", "weights", "target")
        require_range(self, "max_batch", at_least=1)
        require(
            (self.format, self.weights) != ("saved_model", "int8"),
            "float32, bfloat16 or float16 in a SavedModel; --format=ctranslate2 has int8",
            as_flags(self, "weights", "format"),
        )
        require(
            (self.format, self.target) != ("ctranslate2", "gpu"),
            "no --target: CTranslate2 chooses its device when it loads a model",
            as_flags(self, "target", "format"),
        )
        require(
            self.format == "saved_model" or self.max_batch == DEFAULT_MAX_BATCH,
            "no --max_batch: callers set max_batch_size of CTranslate2",
            as_flags(self, "max_batch", "format"),
        )

    def check_models(self, models: TrainedModels) -> None:
        """Raises UserError if the format cannot hold that many models."""
        if self.format == "ctranslate2" and models.ensemble:
            raise UserError(
                "received --ensemble and --format=ctranslate2, which holds one model: leave one out"
            )


def export_run(
    run: Run,
    models: TrainedModels,
    search: SearchConfig,
    config: ExportConfig,
    *,
    alignment: AlignmentConfig = _DEFAULT_ALIGNMENT,
) -> ExportResult:
    """Writes a model to `config.output_dir`, which appears as a whole, and export.json within.

    Args:
        run: that of `models`, the first of an ensemble.
        models: which weights.
        search: how the exported model translates.
        config: where to, and the format.
        alignment: how a SavedModel aligns words.

    Returns:
        the content of export.json.

    Raises:
        UserError: the directory holds something else, or the format cannot express the model, or
            the disk is full.
    """
    output_dir = Path(config.output_dir)
    with _reserve(output_dir) as temporary:
        checkpoint = _write_model(run, models, search, config, alignment, temporary)
        size = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
        is_saved_model = config.format == "saved_model"
        result = ExportResult(
            format=config.format,
            output_dir=str(output_dir),
            weights=config.weights,
            target=config.target if is_saved_model else None,
            max_batch=config.max_batch if is_saved_model else None,
            versions=_installed_versions(),
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
        write_atomically(str(temporary / EXPORT_FILE), text.encode())
        shutil.rmtree(output_dir, ignore_errors=True)
        os.replace(temporary, output_dir)
    return result


def _installed_versions() -> dict[str, str]:
    """Returns the versions of the libraries that an export depends on."""
    versions = {}
    for library in _LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[library] = metadata.version(library)
    return versions


@contextlib.contextmanager
def _reserve(output_dir: Path) -> Iterator[Path]:
    """Yields a temporary path beside the output, which does not exist but can be created.

    TensorFlow fails with a traceback where it cannot write, so this is tried beforehand. What is
    left there at the end, after a failure, is deleted.
    """
    if output_dir.exists() and not (output_dir / EXPORT_FILE).exists():
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
    run: Run,
    models: TrainedModels,
    search: SearchConfig,
    config: ExportConfig,
    alignment: AlignmentConfig,
    directory: Path,
) -> Checkpoint:
    """Writes the model in the format of `config`; returns the checkpoint it was loaded from."""
    start_tensorflow()
    from trainer.exporters.ctranslate2 import save_ctranslate2
    from trainer.exporters.saved_model import save_translator
    from trainer.inference.translator import load_translator
    from trainer.runtime.error_messages import explain_full_disk

    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)  # TensorFlow reports every renamed input
    try:
        with trace_for(config.target), explain_full_disk(config.output_dir, "free some space"):
            translator, checkpoint = load_translator(run, models, search, alignment=alignment)
            if config.format == "ctranslate2":
                save_ctranslate2(run, translator, directory, weights=config.weights)
            else:
                save_translator(
                    translator, directory, weights=config.weights, max_batch=config.max_batch
                )
    finally:
        logging.set_verbosity(verbosity)
    return checkpoint
