"""Writes one page about a run: scores, curves, translations, attention, configuration, data.

    python -m trainer.report --run_dir=runs/demo

The page opens in any browser, without a network.
"""

import dataclasses
from pathlib import Path

from model.config import SearchConfig
from pipeline import card
from pipeline.common import cli
from pipeline.common.settings import require_range, setting
from pipeline.common.storage import write_atomically
from pipeline.dataset.schema import load_dataset
from trainer.config import TrainedModel
from trainer.runs.run_directory import load_run
from trainer.runtime.startup import start_tensorflow


@dataclasses.dataclass(frozen=True)
class ReportConfig:
    """Contents of the report."""

    samples: int = setting(10, "Dev sentences to translate, evenly spread.")
    text: str | None = setting(
        None, "Sentences whose attention to show, one per line; default: the first two samples."
    )
    dataset_dir: str | None = setting(
        None, "Dataset directory; default: the one that the run was trained on."
    )
    output_file: str | None = setting(None, "Page to write; default: RUN_DIR/report.html.")

    def __post_init__(self) -> None:
        require_range(self, "samples", at_least=1)


def main(_: list[str]) -> None:
    """Reads the flags, translates, and writes the page."""
    model = cli.config_from_flags(TrainedModel)
    config = cli.config_from_flags(ReportConfig)
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)
    dataset = load_dataset(config.dataset_dir or run.training.dataset_dir)

    start_tensorflow()
    from trainer.evaluation.test_sets import sample_translations
    from trainer.inference.sentence_attention import attend_to_sentences
    from trainer.inference.translator import load_translator
    from trainer.pages.run_report import Illustrations, report_page

    translator, _checkpoint = load_translator(run, model, search)
    samples = sample_translations(translator, dataset, "dev", sentences=config.samples)
    sentences = (config.text or "").splitlines() or [row["source"] for row in samples[:2]]
    text = report_page(
        run,
        dataset,
        parameters=translator.transformer.count_params(),
        card=card.format_card(dataset, samples=3),
        illustrations=Illustrations(samples, attend_to_sentences(run, translator, sentences)),
    )
    path = config.output_file or str(Path(model.run_dir) / "report.html")
    write_atomically(path, text.encode())
    print(f"written: {path}")


if __name__ == "__main__":
    for config in (TrainedModel, ReportConfig, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
