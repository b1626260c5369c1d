"""Scoring the translations in files, line by line."""

import contextlib
import dataclasses
import json
import sys

from model.config import SearchConfig
from pipeline.common import storage
from pipeline.common.settings import required_setting, setting
from trainer.bulk_translation.blocks import read_blocks
from trainer.data.raw_text import tag_sentences
from trainer.runs.run_dataset import check_source_tag
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModels
from trainer.runtime.startup import start_tensorflow

# What scoring reads of a `SearchConfig`.
SEARCH_SETTINGS = ("length_penalty", "length_penalty_form", "max_source_length")
_BLOCK_LINES = 2_000  # read at a time


@dataclasses.dataclass(frozen=True)
class ScoredText:
    """What to score."""

    source_file: str = required_setting("UTF-8 text, one sentence per line.")
    target_file: str = required_setting("UTF-8 text, the translation of each line.")
    source_tag: str = setting(
        "",
        "Tag to put before each sentence, such as <2de>, one of pipeline.preprocess --tags; not if "
        "the text has its tags.",
    )
    output_file: str | None = setting(None, "File for the scores; standard output if not given.")


def score_files(run: Run, models: TrainedModels, search: SearchConfig, files: ScoredText) -> None:
    """Writes one JSON object per pair of lines, and prints how many went to a file.

    Args:
        run: that of `models`, the first of an ensemble.
        models: which weights.
        search: its `SEARCH_SETTINGS` are used: the length penalty divides the log-probabilities.
        files: what to score.

    Raises:
        UserError: the files have different numbers of lines, or one is not UTF-8, or the
            vocabulary lacks the tag.
    """
    check_source_tag(run, files.source_tag)
    source, target = read_aligned_lines(files.source_file, files.target_file)

    start_tensorflow()
    from trainer.inference.scoring import score_all
    from trainer.inference.translator import load_translator

    translator, _checkpoint = load_translator(run, models, search)
    source = tag_sentences(files.source_tag, source)
    pairs = score_all(translator, run.subwords_path("target"), source, target)
    lines = (f"{json.dumps(pair._asdict(), ensure_ascii=False)}\n".encode() for pair in pairs)
    if files.output_file:
        storage.write_atomically(files.output_file, lines)
        print(f"{len(source):,} scores written: {files.output_file}")
    else:
        sys.stdout.buffer.writelines(lines)


def read_aligned_lines(source_file: str, target_file: str) -> tuple[list[str], list[str]]:
    """Returns the lines of both files, split as `trainer.translate` splits them.

    Raises:
        UserError: a line is not UTF-8, or one file has fewer lines; says which.
    """
    paths = [source_file, target_file]
    source: list[str] = []
    target: list[str] = []
    with contextlib.ExitStack() as stack:
        texts = [stack.enter_context(storage.open_file(path)) for path in paths]
        for source_lines, target_lines in read_blocks(texts, _BLOCK_LINES, paths):
            source += source_lines
            target += target_lines
    return source, target
