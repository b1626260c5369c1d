"""Translates text, one sentence a line, with a run or with an exported SavedModel.

    echo "The old dog sleeps." | python -m trainer.translate --run_dir=runs/demo
    python -m trainer.translate --saved_model=DIR --input_file=news.en --output_file=news.de

Line n of the output translates line n of the input.
"""

import dataclasses
import sys
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
class TextFiles:
    """What to translate."""

    saved_model: str | None = field(
        default=None,
        metadata={"help": "Directory that trainer.export wrote; instead of --run_dir."},
    )
    input_file: str | None = field(
        default=None,
        metadata={"help": "UTF-8 text, a sentence a line; standard input if not given."},
    )
    output_file: str | None = field(
        default=None, metadata={"help": "File for the translations; standard output if not given."}
    )


def main(_: list[str]) -> None:
    """Reads the flags and the text, translates, and writes."""
    files = cli.config_from_flags(TextFiles)
    model = cli.config_from_flags(TrainedModel)
    _refuse_both(files.saved_model)
    sentences = _read(files.input_file)

    start_tensorflow()
    from trainer.translator import load_saved_model, load_translator, translate_all

    if files.saved_model:
        translate = load_saved_model(files.saved_model)
    else:
        run = load_run(model.run_dir)
        search = cli.override_from_flags(run.search)
        translator = load_translator(run, model.checkpoint, search)[0]
        translate = translator.translate  # which alone would not keep the translator alive
    translations = translate_all(translate, sentences)
    text = "".join(f"{translation.text}\n" for translation in translations).encode()
    if files.output_file:
        write_atomically(files.output_file, text)
        logging.info("%d translations written: %s", len(translations), files.output_file)
    else:
        sys.stdout.buffer.write(text)


def _refuse_both(saved_model: str | None) -> None:
    """Raises UserError if flags of a run are given for a SavedModel, which would ignore them."""
    ignored = cli.given_flags(TrainedModel) + cli.given_flags(SearchConfig)
    if saved_model and ignored:
        raise UserError(
            f"received --saved_model and --{ignored[0]}: which weights and how to search was "
            "fixed by trainer.export; leave one out, or export again"
        )


def _read(path: str | None) -> list[str]:
    data = Path(path).read_bytes() if path else sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UserError(
            f"{path or 'standard input'} line {line} is not UTF-8 (byte {data[error.start]:#04x}); "
            "convert it, for example with iconv"
        ) from error
    return text.removesuffix("\n").split("\n") if text else []


if __name__ == "__main__":
    for config in (TextFiles, TrainedModel, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
