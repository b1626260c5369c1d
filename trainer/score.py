"""Scores given translations by a model, without any search.

    python -m trainer.score --run_dir=runs/demo --source_file=news.en --target_file=news.de

Line n of the output, JSON, is about line n of both files: the summed log-probability in nats, the
score (with the length penalty of search), and each subword of the translation with its own
log-probability.
"""

import dataclasses
import json
import sys
from dataclasses import field
from pathlib import Path
from typing import Any

from absl import logging

from model.config import SearchConfig
from pipeline import cli
from pipeline.errors import UserError
from pipeline.schema import write_atomically
from trainer.config import TrainedModels
from trainer.run_directory import load_run
from trainer.startup import start_tensorflow


@dataclasses.dataclass(frozen=True)
class ScoredText:
    """What to score."""

    source_file: str = field(metadata={"help": "UTF-8 text, a sentence a line."})
    target_file: str = field(metadata={"help": "Its translations, likewise."})
    output_file: str | None = field(
        default=None, metadata={"help": "File for the scores; standard output if not given."}
    )


def main(_: list[str]) -> None:
    """Reads the flags and both texts, scores, and writes."""
    files = cli.config_from_flags(ScoredText)
    model = cli.config_from_flags(TrainedModels)
    source, target = _read(files.source_file), _read(files.target_file)
    if len(source) != len(target):
        raise UserError(
            f"{files.source_file} has {len(source)} lines and {files.target_file} {len(target)}: "
            "expected line n of one to translate line n of the other"
        )
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)

    start_tensorflow()
    from trainer.scoring import score_all
    from trainer.translator import load_translator

    translator = load_translator(run, model, search)[0]
    rows: list[dict[str, Any]] = score_all(translator, run.subwords_path("target"), source, target)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if files.output_file:
        write_atomically(files.output_file, text)
        logging.info("%d scores written: %s", len(rows), files.output_file)
    else:
        sys.stdout.buffer.write(text)


def _read(path: str) -> list[str]:
    return Path(path).read_text("utf-8").removesuffix("\n").split("\n")


if __name__ == "__main__":
    for config in (TrainedModels, ScoredText, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
