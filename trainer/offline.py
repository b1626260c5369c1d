"""Translating a text of any size: in blocks of lines, so that nothing done is done again.

Each block becomes a part, a file named by its number and by what decides its content, the model and
the lines. Whoever runs again, after a kill or with some lines changed, finds the parts that are
still right. At the end the parts become the output, in order. Blocks are independent, so any number
of workers may translate them.
"""

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from absl import logging

from model.config import SearchConfig
from pipeline import storage
from pipeline.errors import UserError
from trainer.config import TrainedModel
from trainer.run_directory import load_run
from trainer.startup import start_tensorflow

if TYPE_CHECKING:
    from trainer.translator import Translate


@dataclasses.dataclass(frozen=True)
class Model:
    """What to translate with: an exported model, or a run's checkpoint and how to search.

    Raises:
        UserError: also later, on use: there is no such model.
    """

    saved_model: str | None
    run_dir: str = ""
    checkpoint: str = ""
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)

    def load(self) -> "Translate":
        """Returns the function that translates."""
        start_tensorflow(one_thread_per_op=True)
        from trainer.saved_model import load_saved_model
        from trainer.translator import load_translator

        if self.saved_model:
            return load_saved_model(self.saved_model)
        translator, _ = load_translator(
            load_run(self.run_dir), TrainedModel(self.run_dir, self.checkpoint), self.search
        )
        return lambda text: translator.translate(text)  # and so keeps the translator alive

    def identity(self) -> bytes:
        """Returns a digest of all that decides a translation: the weights and the search."""
        start_tensorflow(one_thread_per_op=True)
        from trainer.checkpoints import find_checkpoint
        from trainer.saved_model import find_fingerprint

        if self.saved_model:
            return hashlib.sha256(find_fingerprint(self.saved_model).read_bytes()).digest()
        checkpoint = find_checkpoint(Path(self.run_dir), self.checkpoint)
        weights = (checkpoint.path / "weights.npz").read_bytes()
        return hashlib.sha256(repr(self.search).encode() + weights).digest()


@dataclasses.dataclass(frozen=True)
class TextBlock:
    """Some lines of a file, and the name of the part that will hold their translations."""

    name: str
    path: str
    start: int  # byte
    size: int  # bytes
    lines: int


def read_blocks(file: BinaryIO, block_lines: int, name: str) -> Iterator[list[str]]:
    r"""Yields the lines of a file, `block_lines` at a time, split on "\n" alone.

    Raises:
        UserError: a line is not UTF-8; says which.
    """
    for number in itertools.count():
        data = b"".join(itertools.islice(file, block_lines))
        if not data:
            return
        yield _decode(data, name, first_line=number * block_lines + 1)


def list_blocks(path: str, block_lines: int, model: Model) -> list[TextBlock]:
    """Reads a file once and returns its blocks.

    Raises:
        UserError: a line is not UTF-8, or there is no such model.
    """
    identity, start = model.identity(), 0
    blocks: list[TextBlock] = []
    with storage.open_file(path) as file:
        for lines in read_blocks(file, block_lines, path):
            data = "\n".join(lines).encode()
            digest = hashlib.sha256(identity + data).hexdigest()[:16]
            size = file.tell() - start
            name = f"{len(blocks):06d}-{digest}.txt"
            blocks.append(TextBlock(name, path, start, size, len(lines)))
            start += size
    return blocks


def translate_block(block: TextBlock, folder: str, translate: "Translate") -> None:
    """Translates a block into its part in `folder`, which then exists as a whole."""
    data = storage.read_range(block.path, block.start, block.size)
    translations = translate_lines(_decode(data, block.path), translate)
    storage.write_atomically(f"{folder}/{block.name}", to_text(translations))


def translate_lines(lines: Sequence[str], translate: "Translate") -> list[str]:
    """Translates lines, and says how many were too long to be translated as a whole."""
    from trainer.translator import translate_all

    translations = translate_all(translate, lines)
    if cut := sum(translation.source_tokens_cut > 0 for translation in translations):
        logging.warning("%d sentences were longer than --max_source_length and cut there", cut)
    return [translation.text for translation in translations]


def to_text(translations: Sequence[str]) -> bytes:
    """Returns translations as lines; one with a line end in it stays one line."""
    return "".join(f"{each.replace(chr(10), ' ')}\n" for each in translations).encode()


def join_parts(blocks: Sequence[TextBlock], folder: str, output: str) -> None:
    """Writes the parts in order to `output`, which then exists as a whole, and deletes them."""
    parts = (storage.read(f"{folder}/{block.name}") for block in blocks)
    storage.write_atomically(output, b"".join(parts))
    storage.delete(folder)


def _decode(data: bytes, name: str, first_line: int = 1) -> list[str]:
    try:
        return data.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        line = first_line + data[: error.start].count(b"\n")
        raise UserError(
            f"{name} line {line} is not UTF-8 (byte {data[error.start]:#04x}); "
            "convert it, for example with iconv"
        ) from error
