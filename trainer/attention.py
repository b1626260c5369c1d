"""Writes an interactive page with the attention weights of every layer and head.

    python -m trainer.attention --run_dir=runs/demo --text="The old dog sleeps in the garden."

The page opens in any browser, without a network.
"""

import dataclasses
from pathlib import Path

from model.config import SearchConfig
from pipeline.common import cli
from pipeline.common.errors import UserError
from pipeline.common.settings import required_setting, setting
from pipeline.common.storage import write_atomically
from trainer.config import TrainedModel
from trainer.runs.run_directory import load_run
from trainer.runtime.startup import start_tensorflow


@dataclasses.dataclass(frozen=True)
class AttentionPage:
    """Contents and place of the page."""

    text: str = required_setting("Sentences to translate, one per line.")
    output_file: str | None = setting(None, "Page to write; default: RUN_DIR/attention.html.")


def main(_: list[str]) -> None:
    """Reads the flags, translates, and writes the page."""
    model = cli.config_from_flags(TrainedModel)
    config = cli.config_from_flags(AttentionPage)
    sentences = [line.strip() for line in config.text.splitlines() if line.strip()]
    if not sentences:
        raise UserError("--text has no words: expected a sentence to translate")
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)

    start_tensorflow()
    from trainer.inference.sentence_attention import attend_to_sentences
    from trainer.inference.translator import load_translator
    from trainer.pages import attention_viewer
    from trainer.pages.html import page

    translator, checkpoint = load_translator(run, model, search)
    attention = attend_to_sentences(run, translator, sentences)
    text = page(
        f"Attention of {run.directory.name}, step {checkpoint.step:,}",
        {"Every layer and head": attention_viewer.viewers(attention)},
        scripts=["attention_viewer.js"],
    )
    path = config.output_file or str(Path(model.run_dir) / "attention.html")
    write_atomically(path, text.encode())
    print(f"written: {path}")


if __name__ == "__main__":
    for config in (TrainedModel, AttentionPage, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
