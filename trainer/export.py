"""Exports a trained model: a SavedModel for TF Serving, text in and text out, or for CTranslate2.

    python -m trainer.export --run_dir=runs/demo --output_dir=exported/translator/1
    python -m trainer.export --run_dir=runs/demo --output_dir=exported/ct2 --format=ctranslate2

A SavedModel's signature serving_default takes `text`, string [batch], and gives `translation`,
string [batch], and `score`, float32 [batch]; translate_nbest, translate_with_prefix, score and
translate_ids are beside it. It holds its own subwords; who loads it needs TensorFlow and the
TensorFlow Text ops, which TF Serving links, and nothing of this repository. export.json beside the
model says what was exported.
"""

import dataclasses
import json
import os
import shutil
from pathlib import Path
from typing import Literal

from absl import logging

from model.config import SearchConfig
from pipeline.common import cli, storage
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags, require, require_choice, required_setting, setting
from pipeline.common.storage import write_atomically
from trainer.config import TrainedModels
from trainer.runs.run_directory import load_run
from trainer.runtime.startup import start_tensorflow

_ABOUT = "export.json"


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
        "Type that weights are stored in; int8 for CTranslate2 alone. A SavedModel computes in "
        "float32 whatever it stores.",
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


def main(_: list[str]) -> None:
    """Reads the flags, exports, and says how to use the result."""
    model = cli.config_from_flags(TrainedModels)
    target = cli.config_from_flags(ExportTarget)
    output_dir = Path(target.output_dir)
    if target.format == "ctranslate2" and model.ensemble:
        raise UserError(
            "received --ensemble and --format=ctranslate2, which holds one model: leave one out"
        )
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)
    if output_dir.exists() and not (output_dir / _ABOUT).exists():
        raise UserError(
            f"{output_dir} exists and is no exported model; expected a new directory or an earlier "
            "export: give another --output_dir"
        )
    temporary = output_dir.with_name(f".{output_dir.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)  # where nothing can be written, TensorFlow fails with a traceback
    temporary.rmdir()

    start_tensorflow()
    from trainer.exporters.ctranslate2 import save_ctranslate2
    from trainer.exporters.saved_model import save_translator
    from trainer.inference.translator import load_translator

    translator, checkpoint = load_translator(run, model, search)
    if target.format == "ctranslate2":
        save_ctranslate2(run, translator, temporary, weights=target.weights)
    else:
        logging.set_verbosity(logging.WARNING)  # saving tells of every renamed input
        save_translator(translator, temporary, weights=target.weights)
        logging.set_verbosity(logging.INFO)
    size = sum(file.stat().st_size for file in temporary.rglob("*") if file.is_file())
    about = {
        target.format: str(output_dir),
        "weights": target.weights,
        "bytes": size,
        "run_dir": model.run_dir,
        "ensemble": list(model.ensemble),
        "step": checkpoint.step,
        "averaged_steps": list(checkpoint.sources),
        "source_language": run.data.source_language,
        "target_language": run.data.target_language,
        **dataclasses.asdict(search),
    }
    write_atomically(str(temporary / _ABOUT), (json.dumps(about, indent=1) + "\n").encode())
    shutil.rmtree(output_dir, ignore_errors=True)
    os.replace(temporary, output_dir)
    logging.info(
        "%s written: %s, %.1f MB, %s", target.format, output_dir, size / 1e6, target.weights
    )
    if target.format == "saved_model":
        logging.info(
            "next: python -m trainer.translate --saved_model=%s < sentences.txt", output_dir
        )


if __name__ == "__main__":
    for config in (TrainedModels, ExportTarget, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
