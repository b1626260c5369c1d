r"""Translates text, one sentence a line, with a run or with an exported SavedModel.

    echo "The old dog sleeps in the garden." | python -m trainer.translate --run_dir=runs/demo
    python -m trainer.translate --saved_model=DIR --input_file=news.en --output_file=news.de
    python -m trainer.translate --saved_model=DIR --input_file=news.en --output_file=news.de \
        --runner=DirectRunner --num_workers=8
    python -m trainer.translate --run_dir=runs/a --ensemble=runs/b,runs/c --prefix_file=begun.de \
        --input_file=news.en --output_file=news.de

Line n of the output translates line n of the input; with --n_best=N it has at most N lines for each
(one for a blank line), in Moses' format: the number of the line, from 0, the translation and its
score, with ||| between them. With --output_file, finished blocks of lines are kept in
OUTPUT_FILE.parts: killed at any moment, the same command goes on, and OUTPUT_FILE, which must not
exist, appears as a whole at the end. With --runner, blocks are translated on the
workers of a Beam runner; options of Apache Beam may follow.
"""

import contextlib
import dataclasses
import logging as standard_logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags, logging

from model.config import SearchConfig
from pipeline.common import cli, flag_help, storage
from pipeline.common.errors import UserError
from pipeline.common.progress import Progress, follow_blocks
from pipeline.common.settings import as_flags, require, require_range, setting
from trainer.bulk_translation.blocks import (
    Model,
    check_output,
    join_parts,
    list_blocks,
    read_blocks,
    to_text,
    translate_block,
    translate_lines,
)
from trainer.config import TrainedModels
from trainer.runs.run_directory import load_run

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions


@dataclasses.dataclass(frozen=True)
class TextFiles:
    """What to translate, and where.

    Raises:
        ValueError: if a value is out of range.
    """

    saved_model: str | None = setting(
        None, "Directory that trainer.export wrote; instead of --run_dir."
    )
    input_file: str | None = setting(
        None, "UTF-8 text, a sentence a line; standard input if not given."
    )
    output_file: str | None = setting(
        None, "File for the translations; standard output if not given."
    )
    prefix_file: str | None = setting(
        None,
        "UTF-8 text whose line n is what the translation of line n must begin with, best in whole "
        "words; a blank line leaves it free.",
    )
    block_lines: int = setting(
        2_000, "Lines that are sorted by length, translated and kept together."
    )
    runner: str | None = setting(
        None,
        "Beam runner, such as DirectRunner, for an --output_file by many workers; this process "
        "alone if not given.",
    )
    num_workers: int = setting(1, "Worker processes of --runner=DirectRunner.")

    def __post_init__(self) -> None:
        require_range(self, "block_lines", "num_workers", at_least=1)
        require(
            bool(self.output_file) or not self.runner,
            "--output_file as well, because workers write files",
            as_flags(self, "runner"),
        )
        require(
            bool(self.runner) or self.num_workers == 1,
            "--runner=DirectRunner as well, or neither; one process uses all cores already",
            as_flags(self, "num_workers"),
        )

    @property
    def columns(self) -> list[str | None]:
        """The texts that belong together line by line; None for standard input."""
        return [self.input_file, self.prefix_file] if self.prefix_file else [self.input_file]


def main(argv: list[str]) -> None:
    """Reads the flags, then translates to a file or to standard output."""
    files = cli.config_from_flags(TextFiles)
    if not files.runner and argv[1:]:
        cli.refuse_unknown(argv[1], flag_help.our_flags(flags.FLAGS))
    model = _read_model(files.saved_model, with_prefixes=files.prefix_file is not None)
    if files.output_file:
        translate_file(files, files.output_file, model, argv[1:])
    else:
        translate_stream(files, model)


def _read_model(saved_model: str | None, *, with_prefixes: bool) -> Model:
    """Raises UserError if flags contradict, such as those of a run with a SavedModel."""
    ignored = cli.given_flags(TrainedModels) + cli.given_flags(SearchConfig)
    if saved_model and ignored:
        raise UserError(
            f"received --saved_model and --{ignored[0]}: which weights and how to search was "
            "fixed by trainer.export; leave one out, or export again"
        )
    if saved_model:
        return Model(saved_model, with_prefixes=with_prefixes)
    trained = cli.config_from_flags(TrainedModels)
    search = cli.override_from_flags(load_run(trained.run_dir).search)
    if search.n_best > 1 and with_prefixes:
        raise UserError(
            f"received --prefix_file and --n_best={search.n_best}, from the command line or the "
            "run: expected --n_best=1; a translation with a prefix is one alone"
        )
    return Model(None, trained, search, with_prefixes)


def translate_stream(files: TextFiles, model: Model) -> None:
    """Translates block by block to standard output."""
    names = [path or "standard input" for path in files.columns]
    with contextlib.ExitStack() as stack:
        texts = [
            stack.enter_context(storage.open_file(path) if path else sys.stdin.buffer)
            for path in files.columns
        ]
        translate = model.load()
        progress = stack.enter_context(Progress("Translate", unit="lines"))
        first = 0
        for columns in read_blocks(texts, files.block_lines, names):
            found = translate_lines(columns, translate)
            sys.stdout.buffer.write(to_text(found, first))
            sys.stdout.buffer.flush()
            progress.advance(len(found))
            first += len(found)


def translate_file(files: TextFiles, output: str, model: Model, beam_arguments: list[str]) -> None:
    """Translates into parts, those that are missing, then joins them."""
    options = _beam_options(files, beam_arguments)
    folder = f"{output}.parts"
    done = storage.entries(folder)
    check_output(output, begun=bool(done))
    model = model.pinned()
    try:
        paths = [
            _readable_again(path, f"{folder}/column-{n}") for n, path in enumerate(files.columns)
        ]
        blocks = list_blocks(paths, files.block_lines, model)
    except (UserError, OSError):
        if not done:
            storage.delete(folder)
        raise
    waiting = [block for block in blocks if block.name not in done]
    check_output(output, begun=bool(blocks) and not waiting)
    storage.make_folder(folder)
    if len(waiting) < len(blocks):
        logging.info(
            "%d of %d blocks were finished before", len(blocks) - len(waiting), len(blocks)
        )
    with follow_blocks("Translate", waiting, lambda: storage.entries(folder)):
        if waiting and options is not None:
            from trainer.bulk_translation.apache_beam_job import translate_with_beam

            translate_with_beam(waiting, folder, model, options)
        elif waiting:
            translate = model.load()
            for block in waiting:
                translate_block(block, folder, translate)
    join_parts(blocks, folder, output)
    logging.info("%d translations written: %s", sum(block.lines for block in blocks), output)


def _readable_again(path: str | None, copy: str) -> str:
    """Returns the path of a text that every worker can read, of a pipe or None that of a copy."""
    if path and not path.startswith("/dev/") and not Path(path).is_fifo():
        return path
    storage.make_folder(Path(copy).parent)
    with open(path, "rb") if path else contextlib.nullcontext(sys.stdin.buffer) as text:
        storage.write_atomically(copy, iter(lambda: text.read(1 << 20), b""))
    return copy


def _beam_options(files: TextFiles, arguments: list[str]) -> "PipelineOptions | None":
    """Returns Beam's options, which file systems have now as well; None without a runner."""
    if not files.runner:
        return None
    standard_logging.disable(standard_logging.WARNING)  # Beam warns about lacking Google clients
    from pipeline.stages import runners

    standard_logging.disable(standard_logging.NOTSET)
    our_flags = flag_help.our_flags(flags.FLAGS)
    return runners.make_options(files.runner, files.num_workers, arguments, our_flags)


if __name__ == "__main__":
    for config in (TextFiles, TrainedModels, SearchConfig):
        cli.define_flags(config)
    cli.run(
        main,
        allow_unknown=True,
        if_interrupted="with --output_file, running the same command again continues the work",
    )
