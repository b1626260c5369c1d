"""Resumable translation of a text of any size, in blocks of lines.

The translations of a block are a part: a file named after its first line and a digest of the model
and the lines. A command that is run again, after a kill or with some lines changed, reuses the
parts that are still valid. At the end the parts are joined in order. Blocks are independent, so any
number of workers may translate them.
"""

import contextlib
import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from model.config import AlignmentConfig, SearchConfig
from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.spans import Span, cut_aligned_chunks, decode_lines
from trainer.exporters.result import read_languages
from trainer.exporters.saved_model_files import fetch_saved_model, read_fingerprint
from trainer.runs.checkpoint_files import find_checkpoint
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModels
from trainer.runtime.startup import start_tensorflow

if TYPE_CHECKING:
    import tensorflow as tf

    from trainer.inference.batching import Translate
    from trainer.inference.translations import Hypothesis, Translation


ALIGNMENT, WORD_CONFIDENCE = BESIDE = ("alignment", "word_confidence")


@dataclasses.dataclass(frozen=True)
class Model:
    """What to translate with: an exported model, or checkpoints of runs and a search.

    saved_model: its directory, or a URL, from which each machine fetches it.
    with_prefixes: the model also receives the beginnings of the translations.
    source_tag: tag put before each sentence; "" for none.
    split_sentences: lines are split into sentences, which are translated apart.
    beside: what is written beside translations, of `BESIDE`.
    alignment: how words are aligned.
    pin: `identity` at the start of the command; a pinned model that has changed since is not
        loaded, so that all workers translate with the same one.

    Raises:
        UserError: on use: there is no such model.
    """

    saved_model: str | None
    trained: TrainedModels = TrainedModels()
    search: SearchConfig = SearchConfig()
    with_prefixes: bool = False
    source_tag: str = ""
    split_sentences: bool = False
    beside: tuple[str, ...] = ()
    alignment: AlignmentConfig = AlignmentConfig()
    pin: bytes | None = None

    def pinned(self) -> "Model":
        """Returns the model with its present identity as the pin."""
        return dataclasses.replace(self, pin=self.identity())

    def load(self) -> "Translate":
        """Returns the function that translates."""
        start_tensorflow(for_search=True)
        from trainer.inference.batching import with_source_tag
        from trainer.inference.documents import load_splitter, translate_documents

        if not self.split_sentences:
            return with_source_tag(self._load(), self.source_tag)
        source, target = self._languages()
        split = load_splitter(source)  # before the model: a missing package is said at once
        return translate_documents(with_source_tag(self._load(), self.source_tag), split, target)

    def _languages(self) -> tuple[str, str]:
        """Returns the language codes of source and target; "" if an export does not tell."""
        if self.saved_model:
            return read_languages(fetch_saved_model(self.saved_model))
        data = load_run(self.trained.run_dir).data
        return data.source_language, data.target_language

    def _load(self) -> "Translate":
        from trainer.exporters.saved_model import load_saved_model

        if self.pin and self.pin != self.identity():
            place = self.saved_model or ", ".join(self.trained.run_dirs)
            raise UserError(
                f"the model in {place} has changed since this command began, and some text is "
                "translated: wait until it is finished, and run the same command again"
            )
        if self.saved_model:
            return self._select(load_saved_model(self.saved_model, self._signature()))
        return self._select(self._load_run())

    def _signature(self) -> str:
        from trainer.exporters import saved_model

        if self.beside:
            return saved_model.WITH_ALIGNMENTS
        return saved_model.WITH_PREFIX if self.with_prefixes else saved_model.DEFAULT_SIGNATURE

    def _load_run(self) -> "Translate":
        from trainer.inference.aligning_translator import AligningTranslator
        from trainer.inference.translator import load_translator

        run = load_run(self.trained.run_dir)
        translator, _ = load_translator(run, self.trained, self.search, alignment=self.alignment)
        if self.with_prefixes:  # a lambda keeps the translator alive
            return lambda text, prefix: translator.translate_with_prefix(text, prefix)
        loaded = AligningTranslator(translator) if self.beside else translator
        if self.search.n_best > 1:
            return lambda text: loaded.translate_nbest(text)
        return lambda text: loaded.translate(text)

    def _select(self, translate: "Translate") -> "Translate":
        """Returns a function that leaves out what is not to be written beside translations."""
        left_out = {*BESIDE} - {*self.beside} if self.beside else ()
        if not left_out:
            return translate

        def translate_and_select(**inputs: "tf.Tensor") -> "dict[str, tf.Tensor]":
            outputs = translate(**inputs)
            return {name: outputs[name] for name in outputs if name not in left_out}

        return translate_and_select

    def identity(self) -> bytes:
        """Returns a digest of what determines the lines written: weights, search, alignment."""
        digest = hashlib.sha256(f"{self.beside}{self.split_sentences}".encode())
        if self.saved_model:
            digest.update(read_fingerprint(self.saved_model))
            return digest.digest()
        digest.update(f"{self.search!r}{self.source_tag}{self.alignment!r}".encode())
        for run_dir in self.trained.run_dirs:
            checkpoint = find_checkpoint(Path(run_dir), self.trained.checkpoint)
            digest.update((checkpoint.path / "weights.npz").read_bytes())
        return digest.digest()


@dataclasses.dataclass(frozen=True)
class TextBlock:
    """Consecutive sentences, and the name of the part for their translations.

    columns: where the sentences are, and their prefixes if there are any.
    lines: the number of sentences.
    first: the number of sentences before them.
    """

    name: str
    columns: tuple[Span, ...]
    lines: int
    first: int


def check_output(path: str, *, begun: bool) -> None:
    """Checks that a file of translations may be written, before translating.

    Args:
        path: the file.
        begun: whether a killed command may have written it and not yet deleted its parts.

    Raises:
        UserError: it is a folder, or exists.
    """
    if path.endswith("/") or Path(path).is_dir():
        raise UserError(f"{path} is a folder: expected a file to write translations to")
    if storage.is_file(path) and not begun:
        raise UserError(f"{path} exists: delete it, or write to another file")


def read_blocks(
    files: Sequence[BinaryIO], block_lines: int, names: Sequence[str]
) -> Iterator[list[list[str]]]:
    r"""Yields the lines of parallel files, `block_lines` of each at a time, split on "\n" alone.

    Raises:
        UserError: a line is not UTF-8, or one file has fewer lines; says which.
    """
    for chunks in cut_aligned_chunks(files, block_lines, names):
        yield [_decode(chunk.data, chunk.span) for chunk in chunks]


def list_blocks(paths: Sequence[str], block_lines: int, model: Model) -> list[TextBlock]:
    """Reads a text, and the prefixes if there are any, once, and returns its blocks.

    Raises:
        UserError: as `read_blocks`, or there is no such model.
    """
    identity = model.pin or model.identity()
    blocks: list[TextBlock] = []
    first = 0
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(storage.open_file(path)) for path in paths]
        for chunks in cut_aligned_chunks(files, block_lines, paths):
            columns = [_decode(chunk.data, chunk.span) for chunk in chunks]
            data = b"".join(_digest("\n".join(lines).encode()) for lines in columns)
            name = f"{first:09d}-{_digest(identity + data).hex()[:16]}.txt"
            spans = tuple(chunk.span for chunk in chunks)
            blocks.append(TextBlock(name, spans, chunks[0].lines, first))
            first += chunks[0].lines
    return blocks


def translate_block(
    block: TextBlock, folder: str, translate: "Translate", *, batches_at_once: int | None = None
) -> None:
    """Translates a block and writes its part to `folder` atomically."""
    columns = [_decode(span.read(), span) for span in block.columns]
    translations = translate_lines(columns, translate, batches_at_once=batches_at_once)
    storage.write_atomically(f"{folder}/{block.name}", to_text(translations, block.first))


def translate_lines(
    columns: Sequence[Sequence[str]],
    translate: "Translate",
    *,
    batches_at_once: int | None = None,
) -> "list[Translation]":
    """Translates sentences, with prefixes or without; see `translate_all`."""
    from trainer.inference.batching import translate_all

    return translate_all(translate, *columns, batches_at_once=batches_at_once)


def to_text(translations: "Sequence[Translation]", first: int) -> bytes:
    """Returns one line per translation; line ends within a translation become spaces.

    N-best lists have Moses' format, "number ||| translation ||| score", one line per translation;
    the number is that of the sentence, and starts at `first`. Links of words and the confidence of
    each word, if there are any, are further fields: "translation ||| 0-0 1-1 ||| 0.91 0.87".
    """
    lines = []
    for number, translation in enumerate(translations, first):
        for hypothesis in translation.n_best:
            fields = [str(number), hypothesis.text, f"{hypothesis.score:.4f}"]
            lines.append(" ||| ".join(fields + _format_words(hypothesis)))
        if not translation.n_best:
            lines.append(" ||| ".join([translation.text, *_format_words(translation)]))
    flattened = (line.replace("\n", " ") for line in lines)
    return "".join(f"{line}\n" for line in flattened).encode()


def _format_words(translation: "Translation | Hypothesis") -> list[str]:
    """Returns the fields about the words of a translation."""
    fields = []
    if translation.alignment is not None:
        fields.append(" ".join(f"{source}-{target}" for source, target in translation.alignment))
    if translation.word_confidence is not None:
        fields.append(" ".join(f"{confidence:.4f}" for confidence in translation.word_confidence))
    return fields


def join_parts(blocks: Sequence[TextBlock], folder: str, output: str) -> None:
    """Joins the parts in order into `output` atomically, then deletes them."""
    parts = (storage.read(f"{folder}/{block.name}") for block in blocks)
    storage.write_atomically(output, parts)
    storage.delete(folder)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _decode(data: bytes, span: Span) -> list[str]:
    return decode_lines(data, span, remedy="convert it, for example with iconv")
