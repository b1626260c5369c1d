"""Scores given translations by a model, without any search.

    python -m trainer.score --run_dir=runs/demo --source_file=news.en --target_file=news.de

Line n of the output, JSON, is about line n of both files: the summed log-probability in nats, the
score (with the length penalty of search), and each subword of the translation with its own
log-probability.
"""

import contextlib
import dataclasses
import json
import sys

from absl import logging

from model.config import SearchConfig
from pipeline.common import cli, storage
from pipeline.common.settings import required_setting, setting
from trainer.bulk_translation.blocks import read_blocks
from trainer.config import TrainedModels
from trainer.runs.run_directory import load_run
from trainer.runtime.startup import start_tensorflow

_BLOCK_LINES = 2_000  # read at a time


@dataclasses.dataclass(frozen=True)
class ScoredText:
    """What to score."""

    source_file: str = required_setting("UTF-8 text, a sentence a line.")
    target_file: str = required_setting("Its translations, line by line.")
    output_file: str | None = setting(None, "File for the scores; standard output if not given.")


def main(_: list[str]) -> None:
    """Reads the flags and both texts, scores, and writes."""
    files = cli.config_from_flags(ScoredText)
    model = cli.config_from_flags(TrainedModels)
    source, target = read_pairs(files.source_file, files.target_file)
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)

    start_tensorflow()
    from trainer.inference.scoring import score_all
    from trainer.inference.translator import load_translator

    translator = load_translator(run, model, search)[0]
    rows = score_all(translator, run.subwords_path("target"), source, target)
    lines = (f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in rows)
    if files.output_file:
        storage.write_atomically(files.output_file, lines)
        logging.info("%d scores written: %s", len(source), files.output_file)
    else:
        sys.stdout.buffer.writelines(lines)


def read_pairs(source_file: str, target_file: str) -> tuple[list[str], list[str]]:
    """Returns the lines of both files, as `trainer.translate` reads them.

    Raises:
        UserError: a line is not UTF-8, or one file has fewer lines; says which.
    """
    names = [source_file, target_file]
    source: list[str] = []
    target: list[str] = []
    with contextlib.ExitStack() as stack:
        texts = [stack.enter_context(storage.open_file(name)) for name in names]
        for sources, targets in read_blocks(texts, _BLOCK_LINES, names):
            source += sources
            target += targets
    return source, target


if __name__ == "__main__":
    for config in (TrainedModels, ScoredText, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
