"""Translating text: block by block to standard output, or into a file, resumably."""

import contextlib
import dataclasses
import logging as standard_logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from absl import logging

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.progress import Progress, follow_blocks
from pipeline.common.settings import as_flags, require, require_range, setting
from trainer.bulk_translation.blocks import (
    BESIDE,
    Model,
    TextBlock,
    check_output,
    join_parts,
    list_blocks,
    read_blocks,
    to_text,
    translate_block,
    translate_lines,
)

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

_STANDARD_INPUT = "-"


@dataclasses.dataclass(frozen=True)
class TextFiles:
    """What to translate, and where.

    Raises:
        ValueError: if a value is out of range.
    """

    saved_model: str | None = setting(
        None, "Directory or URL of what trainer.export wrote; instead of --run_dir."
    )
    input_file: str = setting("-", "UTF-8 text, one sentence per line; - is standard input.")
    split_sentences: bool = setting(
        False,
        "Split each line into sentences, translate them apart and join them, for text whose lines "
        "are paragraphs; needs pip install '.[sentences]'.",
    )
    output_file: str | None = setting(
        None, "File for the translations; standard output if not given."
    )
    prefix_file: str | None = setting(
        None,
        "UTF-8 text whose line n is the beginning of the translation of line n, preferably whole "
        "words; a blank line does not constrain it.",
    )
    source_tag: str = setting(
        "",
        "Tag to put before each sentence, such as <2de>, one of pipeline.preprocess --tags; not if "
        "the text has its tags.",
    )
    alignments: bool = setting(
        False,
        "Write links of words after each translation, in Pharaoh's format: 0-0 2-1, source-target.",
    )
    word_confidence: bool = setting(
        False, "Write the probability of each word after each translation, and after its links."
    )
    interactive: bool = setting(
        False, "Translate each line of standard input before reading the next one."
    )
    block_lines: int = setting(
        2_000, "Lines that are sorted by length, translated and kept together."
    )
    runner: str | None = setting(
        None,
        "Beam runner, such as DirectRunner, whose workers write --output_file; without it, this "
        "process translates. Every worker must see texts and model under the same path or URL; a "
        "SavedModel at a URL is fetched once per machine.",
    )
    num_workers: int = setting(1, "Worker processes of --runner=DirectRunner.")

    def __post_init__(self) -> None:
        require_range(self, "block_lines", "num_workers", at_least=1)
        for name in ("input_file", "output_file", "prefix_file", "runner"):
            require(
                not self.interactive or getattr(self, name) in (None, _STANDARD_INPUT),
                "one of them: each line of standard input is answered on standard output",
                as_flags(self, "interactive", name),
            )
        for name in ("alignments", "word_confidence"):
            require(
                not (getattr(self, name) and self.prefix_file),
                "one of them: what follows a prefix is not aligned",
                as_flags(self, name, "prefix_file"),
            )
            require(
                not (getattr(self, name) and self.split_sentences),
                "one of them: words are counted within a sentence",
                as_flags(self, name, "split_sentences"),
            )
        require(
            not self.split_sentences or not self.prefix_file,
            "one of them: a prefix begins one sentence",
            as_flags(self, "split_sentences", "prefix_file"),
        )
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
    def beside(self) -> tuple[str, ...]:
        """What is written beside translations: of `BESIDE`."""
        asked = (self.alignments, self.word_confidence)
        return tuple(name for name, wanted in zip(BESIDE, asked, strict=True) if wanted)

    @property
    def columns(self) -> list[str | None]:
        """The files whose lines belong together; None for standard input."""
        text = None if self.input_file == _STANDARD_INPUT else self.input_file
        return [text, self.prefix_file] if self.prefix_file else [text]


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
            translations = translate_lines(columns, translate)
            sys.stdout.buffer.write(to_text(translations, first))
            sys.stdout.buffer.flush()
            progress.advance(len(translations))
            first += len(translations)


def translate_file(
    files: TextFiles, model: Model, *, beam_arguments: Sequence[str], our_flags: Sequence[str]
) -> None:
    """Translates the missing parts of `files.output_file`, then joins all parts.

    Args:
        files: what to translate, and where.
        model: what to translate with.
        beam_arguments: Beam's own options, for `files.runner`.
        our_flags: names that are suggested in place of an unknown option.

    Raises:
        UserError: the output exists, a text is not UTF-8, or an option is unknown.
    """
    output = str(files.output_file)
    options = _make_beam_options(files, beam_arguments, our_flags)
    folder = f"{output}.parts"
    done = storage.entries(folder)
    check_output(output, begun=bool(done))
    model = model.pinned()
    try:
        paths = [
            _as_file(path, f"{folder}/column-{number}") for number, path in enumerate(files.columns)
        ]
        blocks = list_blocks(paths, files.block_lines, model)
    except (UserError, OSError):
        if not done:
            storage.delete(folder)
        raise
    missing = [block for block in blocks if block.name not in done]
    check_output(output, begun=bool(blocks) and not missing)
    storage.make_folder(folder)
    if len(missing) < len(blocks):
        logging.info(
            "%d of %d blocks were finished before", len(blocks) - len(missing), len(blocks)
        )
    _translate_blocks(missing, folder, model, options)
    join_parts(blocks, folder, output)
    logging.info("%d translations written: %s", sum(block.lines for block in blocks), output)


def _translate_blocks(
    blocks: Sequence[TextBlock], folder: str, model: Model, options: "PipelineOptions | None"
) -> None:
    """Translates blocks into their parts: as a Beam job, or in this process without options."""
    with follow_blocks("Translate", blocks, lambda: storage.entries(folder)):
        if blocks and options is not None:
            from trainer.bulk_translation.apache_beam_job import run_beam_job

            run_beam_job(blocks, folder, model, options)
        elif blocks:
            translate = model.load()
            for block in blocks:
                translate_block(block, folder, translate)


def _as_file(path: str | None, copy: str) -> str:
    """Returns the path of a text that can be read repeatedly: of a pipe or None, that of a copy."""
    if path and not path.startswith("/dev/") and not Path(path).is_fifo():
        return path
    storage.make_folder(Path(copy).parent)
    with open(path, "rb") if path else contextlib.nullcontext(sys.stdin.buffer) as text:
        storage.write_atomically(copy, iter(lambda: text.read(1 << 20), b""))
    return copy


def _make_beam_options(
    files: TextFiles, arguments: Sequence[str], our_flags: Sequence[str]
) -> "PipelineOptions | None":
    """Returns Beam's options, and gives them to its file systems; None without a runner."""
    if not files.runner:
        return None
    standard_logging.disable(standard_logging.WARNING)  # Beam warns about lacking Google clients
    from pipeline.stages import runners

    standard_logging.disable(standard_logging.NOTSET)
    return runners.make_options(files.runner, files.num_workers, arguments, our_flags)
