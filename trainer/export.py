"""Exports a trained model: a SavedModel for TF Serving, text in and text out, or for CTranslate2.

    python -m trainer.export --run_dir=runs/demo --output_dir=exported/translator/1
    python -m trainer.export --run_dir=runs/demo --output_dir=exported/ct2 --format=ctranslate2

The signature serving_default of a SavedModel takes `text`, string [batch], and gives `translation`,
string [batch], and `score`, float32 [batch]; the others are translate_nbest, translate_with_prefix,
translate_with_alignments, score and translate_ids. It contains its subwords: loading it requires
only TensorFlow and the TensorFlow Text ops, which TF Serving links. export.json in the directory
says what was exported.
"""

from model.config import AlignmentConfig, SearchConfig
from pipeline.common import cli
from trainer.exporters.driver import ExportConfig, export_run
from trainer.exporters.result import format_result
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModels


def main(_: list[str]) -> None:
    """Reads the flags, exports, and prints how to use the result."""
    models = cli.config_from_flags(TrainedModels)
    config = cli.config_from_flags(ExportConfig)
    config.check_models(models)
    run = load_run(models.run_dir)
    search = cli.override_from_flags(run.search)
    alignment = cli.config_from_flags(AlignmentConfig)
    print(format_result(export_run(run, models, search, config, alignment=alignment)))


if __name__ == "__main__":
    for config in (TrainedModels, ExportConfig, SearchConfig, AlignmentConfig):
        cli.define_flags(config)
    cli.run(main)
