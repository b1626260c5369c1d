"""Exports a trained model as a SavedModel for TF Serving: text in, text out.

    python -m trainer.export --run_dir=runs/demo --output_dir=runs/demo/saved_model

Signature serving_default: `text`, string [batch] → `translation`, string [batch], and `score`,
float32 [batch]. It holds its own subword model; who loads it needs TensorFlow and the TensorFlow
Text ops, which TF Serving links, and nothing of this repository. export.json beside the model
says what was exported.
"""

import dataclasses
import json
import os
import shutil
from dataclasses import field
from pathlib import Path

from absl import logging

from model.config import SearchConfig
from pipeline import cli
from pipeline.errors import UserError
from pipeline.schema import write_atomically
from trainer.config import TrainedModel
from trainer.run_directory import load_run
from trainer.startup import start_tensorflow


@dataclasses.dataclass(frozen=True)
class ExportTarget:
    """Where to export to."""

    output_dir: str = field(
        metadata={"help": "New directory for the SavedModel; an earlier export there is replaced."}
    )


def main(_: list[str]) -> None:
    """Reads the flags, exports, and says how to use the result."""
    model = cli.config_from_flags(TrainedModel)
    output_dir = Path(cli.config_from_flags(ExportTarget).output_dir)
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)
    if output_dir.exists() and not (output_dir / "saved_model.pb").exists():
        raise UserError(
            f"{output_dir} exists and is no SavedModel; expected a new directory or an earlier "
            "export: give another --output_dir"
        )

    start_tensorflow()
    import tensorflow as tf

    from trainer.translator import load_translator

    translator, checkpoint = load_translator(run, model.checkpoint, search)
    temporary = output_dir.with_name(f".{output_dir.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    logging.set_verbosity(logging.WARNING)  # saving tells of every renamed input
    tf.saved_model.save(
        translator, str(temporary), signatures={"serving_default": translator.translate}
    )
    logging.set_verbosity(logging.INFO)
    about = {
        "saved_model": str(output_dir),
        "run_dir": model.run_dir,
        "step": checkpoint.step,
        "averaged_steps": list(checkpoint.sources),
        "source_language": run.data["source_language"],
        "target_language": run.data["target_language"],
        **dataclasses.asdict(search),
    }
    write_atomically(str(temporary / "export.json"), (json.dumps(about, indent=1) + "\n").encode())
    shutil.rmtree(output_dir, ignore_errors=True)
    os.replace(temporary, output_dir)
    logging.info("SavedModel written: %s", output_dir)
    logging.info("next: python -m trainer.translate --saved_model=%s < sentences.txt", output_dir)


if __name__ == "__main__":
    for config in (TrainedModel, ExportTarget, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
