"""Writing the pages about a run: what they show, and where they go.

The configuration, the run and its data are read before TensorFlow starts: mistakes are reported
within a second.
"""

import dataclasses
from pathlib import Path

from model.config import AlignmentConfig, SearchConfig
from pipeline import card
from pipeline.common.settings import (
    as_flags,
    require,
    require_range,
    required_setting,
    setting,
)
from pipeline.common.storage import write_atomically
from trainer.data.raw_text import tag_sentences
from trainer.runs.run_dataset import load_run_datasets
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModel
from trainer.runtime.startup import start_tensorflow


@dataclasses.dataclass(frozen=True)
class ReportConfig:
    """Contents of the report.

    Raises:
        ValueError: if a value is out of range.
    """

    samples: int = setting(10, "Dev sentences to translate, evenly spread.")
    text: str | None = setting(
        None, "Sentences whose attention to show, one per line; default: the first two samples."
    )
    dataset_dir: str | None = setting(
        None, "Dataset directory, or all of a mixture; default: what the run was trained on."
    )
    output_file: str | None = setting(None, "Page to write; default: RUN_DIR/report.html.")

    def __post_init__(self) -> None:
        require_range(self, "samples", at_least=1)


@dataclasses.dataclass(frozen=True)
class AttentionConfig:
    """Contents and place of the page.

    Raises:
        ValueError: if there is no sentence.
    """

    text: str = required_setting("Sentences to translate, one per line.")
    output_file: str | None = setting(None, "Page to write; default: RUN_DIR/attention.html.")

    def __post_init__(self) -> None:
        require(bool(self.sentences), "a sentence to translate", as_flags(self, "text"))

    @property
    def sentences(self) -> list[str]:
        """The lines of `text` that are not blank."""
        return [line.strip() for line in self.text.splitlines() if line.strip()]


def write_report(run: Run, model: TrainedModel, search: SearchConfig, config: ReportConfig) -> str:
    """Translates samples of dev, writes the report of a run, and returns its path.

    Raises:
        UserError: the dataset or a checkpoint is missing.
    """
    datasets = load_run_datasets(run, config.dataset_dir)
    dataset = datasets[0]

    start_tensorflow()
    from trainer.evaluation.test_sets import sample_translations
    from trainer.inference.sentence_attention import attend_to_sentences
    from trainer.inference.translator import load_translator
    from trainer.pages.run_report import Illustrations, report_page

    translator, _checkpoint = load_translator(run, model, search)
    samples = sample_translations(translator, dataset, "dev", sentences=config.samples)
    shown = tag_sentences(dataset.source_tag, [sample.source for sample in samples[:2]])
    sentences = (config.text or "").splitlines() or shown
    text = report_page(
        run,
        *datasets,
        parameters=translator.transformer.count_params(),
        card=card.format_card(dataset, samples=3),
        illustrations=Illustrations(samples, attend_to_sentences(run, translator, sentences)),
    )
    return _write(text, config.output_file, run.directory / "report.html")


def write_attention_page(
    run: Run,
    model: TrainedModel,
    search: SearchConfig,
    config: AttentionConfig,
    *,
    alignment: AlignmentConfig,
) -> str:
    """Translates sentences, writes the page of their attention, and returns its path.

    Raises:
        UserError: a checkpoint is missing, or the model has too few layers for the alignment.
    """
    start_tensorflow()
    from trainer.inference.sentence_attention import attend_to_sentences
    from trainer.inference.translator import load_translator
    from trainer.pages.attention_viewer import attention_page

    translator, checkpoint = load_translator(run, model, search, alignment=alignment)
    attention = attend_to_sentences(run, translator, config.sentences)
    text = attention_page(attention, name=run.directory.name, step=checkpoint.step)
    return _write(text, config.output_file, run.directory / "attention.html")


def _write(text: str, output_file: str | None, default: Path) -> str:
    path = output_file or str(default)
    write_atomically(path, text.encode())
    return path
