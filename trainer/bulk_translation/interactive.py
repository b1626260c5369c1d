"""Translation of standard input line by line, for a person or a program that waits for each answer.

The program may hold the other ends of pipes that stay open. Each line has its answer before the
next one is read; what would end the translation of a file is reported, and the session goes on.
"""

import sys
from collections.abc import Iterator

from absl import logging

from pipeline.common.errors import UserError
from pipeline.corpora.spans import Chunk, cut_chunks, decode_lines
from trainer.bulk_translation.blocks import Model, to_text, translate_lines

_INTERRUPTED = 130  # the exit code after SIGINT, as shells have it


def translate_interactively(model: Model) -> int:
    """Translates each line of standard input to standard output before reading the next one.

    A line that is not UTF-8 is reported and answered as an empty one. If both standard input and
    standard error are terminals, a prompt asks for each line.

    Returns:
        the exit code: 0 at the end of the input, 130 after an interrupt.

    Raises:
        UserError: there is no such model.
    """
    try:
        translate = model.load()
        translate_lines([[""]], translate)  # traced before the first line comes
        for number, chunk in enumerate(cut_chunks(_read_lines(), 1, path="standard input")):
            translations = translate_lines([[_decode(chunk)]], translate)
            sys.stdout.buffer.write(to_text(translations, number))
            sys.stdout.buffer.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _read_lines() -> Iterator[bytes]:
    """Yields the lines of standard input, each as soon as it is complete."""
    has_prompt = sys.stdin.isatty() and sys.stderr.isatty()
    try:
        while True:
            if has_prompt:
                print("> ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.buffer.readline()
            if not line:
                return
            yield line
    finally:
        if has_prompt:
            print(file=sys.stderr)  # the shell's prompt starts a new line


def _decode(chunk: Chunk) -> str:
    """Returns the line of a chunk; an empty one if it is not UTF-8, which is reported."""
    try:
        (line,) = decode_lines(chunk.data, chunk.span, remedy="answered as an empty line")
    except UserError as error:
        logging.warning("%s", error)
        return ""
    return line
