"""Vocabularies of a dataset: learned from its training text, or given by the user.

The trainer and the served model rely on the special ids, and sentences are encoded word by word.
Given subwords with other conventions are refused before any work.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence

import sentencepiece
from absl import logging

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.common.tables import escape
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import END_ID, PADDING_ID, SIDES, UNKNOWN_ID, Vocabulary
from pipeline.subwords.encoding import FILE_NAMES, WORDPIECE, file_names, load_subwords
from pipeline.subwords.learning import LEARNERS, VocabularyTooLarge
from pipeline.subwords.vocabulary_size import choose_vocabulary_size
from pipeline.subwords.wordpiece import MARK, SPECIAL, tokenizer

_SPECIAL_IDS = {"padding": PADDING_ID, "end": END_ID, "unknown": UNKNOWN_ID}


@dataclasses.dataclass(frozen=True)
class WordCounts:
    """The training text as subwords are learned from it."""

    pairs: int
    words: Mapping[str, int]  # occurrences of each


def make_subwords(
    config: PreprocessConfig, folder: str, count: Callable[[Sequence[str]], WordCounts]
) -> dict[str, Vocabulary]:
    """Copies the given subwords, or learns them unless an earlier run has done so.

    Args:
        config: resolved configuration.
        folder: folder for the files, named by `encoding.file_names`.
        count: returns the word counts of the given sides together; called only to learn.

    Returns:
        The vocabulary of each side; equal if the sides share one.

    Raises:
        UserError: the words cannot fill the vocabulary, or require a larger one.
    """
    names = file_names(config.subwords, shared=config.shared_vocabulary)
    distinct = list(dict.fromkeys(names.values()))
    if config.subwords_model:
        for name, path in zip(distinct, config.subwords_model, strict=True):
            write_atomically(f"{folder}/{name}", storage.read(path))
    else:
        for name in distinct:
            sides = [side for side in SIDES if names[side] == name]
            _learn(config, f"{folder}/{name}", functools.partial(count, sides))
    vocabularies = {name: _identify(config.subwords, folder, name) for name in distinct}
    return {side: vocabularies[name] for side, name in names.items()}


def _learn(config: PreprocessConfig, path: str, count: Callable[[], WordCounts]) -> None:
    if storage.is_file(path):
        return
    kind, counts = config.subwords, count()
    characters = len(set().union(*counts.words))
    suitable = choose_vocabulary_size(kind, counts.pairs, characters)
    size = config.vocabulary_size or suitable
    distinct = len(counts.words)
    logging.info("LearnSubwords: %s of %d from %d distinct words", kind, size, distinct)
    try:
        LEARNERS[kind](counts.words, size, path)
    except VocabularyTooLarge as error:
        if config.vocabulary_size is None:
            LEARNERS[kind](counts.words, error.largest, path)
            return
        raise UserError(
            f"{error}, with few words in several pieces; leave the flag out for "
            f"{min(suitable, error.largest)}, which suits {counts.pairs:,} pairs"
        ) from error


def _identify(kind: str, folder: str, name: str) -> Vocabulary:
    path = f"{folder}/{name}"
    digest = hashlib.sha256(storage.read(path)).hexdigest()
    return Vocabulary(kind, name, digest, load_subwords(path).vocabulary_size)


def check_given(config: PreprocessConfig) -> list[str]:
    """Checks the given subwords; returns the SHA-256 of each.

    Raises:
        UserError: a file is missing, differs from the flags in kind or size, has other special ids,
          or does not encode word by word; or TensorFlow Text is required and not installed.
    """
    if config.subwords == WORDPIECE:
        tokenizer(SPECIAL)  # raises if TensorFlow Text is not installed
    return [_check(path, config) for path in config.subwords_model]


def _check(path: str, config: PreprocessConfig) -> str:
    if not storage.is_file(path):
        file_name = FILE_NAMES[config.subwords]
        raise UserError(f"no file {path}: expected --subwords_model=DIR/{file_name} or the like")
    data = storage.read(path)
    check_pieces = _check_wordpieces if config.subwords == WORDPIECE else _check_model
    pieces = check_pieces(path, data)
    if config.vocabulary_size not in (None, len(pieces)):
        raise UserError(
            f"{path} has {len(pieces)} subwords, received --vocabulary_size="
            f"{config.vocabulary_size}: leave it out, or learn subwords without --subwords_model"
        )
    return hashlib.sha256(data).hexdigest()


def _check_model(path: str, data: bytes) -> Sequence[str]:
    """Returns the pieces of a SentencePiece model.

    Raises:
        UserError: the model cannot be used.
    """
    model = sentencepiece.SentencePieceProcessor()
    try:
        model.load_from_serialized_proto(data)
    except (RuntimeError, OSError) as error:
        raise UserError(
            f"{path} is not a SentencePiece model: expected one, or --subwords=wordpiece for a list"
        ) from error
    ids = dict(zip(_SPECIAL_IDS, (model.pad_id(), model.eos_id(), model.unk_id()), strict=True))
    if ids != _SPECIAL_IDS:
        raise UserError(
            f"{path} has the special ids {_listed(ids)}: expected {_listed(_SPECIAL_IDS)}; train "
            "it with SentencePiece's --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1"
        )
    pieces = [model.id_to_piece(id) for id in range(model.get_piece_size())]
    marks_words_alike = model.encode("a a") == model.encode("a") + model.encode("a")
    if not marks_words_alike or any(MARK in piece.lstrip(MARK) for piece in pieces):
        raise UserError(
            f"{path} does not encode a sentence word by word: expected SentencePiece's defaults "
            "--add_dummy_prefix=true --split_by_whitespace=true"
        )
    if not any(map(model.is_byte, range(len(pieces)))):
        logging.warning("%s has no byte fallback: characters it lacks become unknown", path)
    return pieces


def _check_wordpieces(path: str, data: bytes) -> Sequence[str]:
    """Returns the pieces of a wordpiece vocabulary.

    Raises:
        UserError: the vocabulary cannot be used.
    """
    pieces = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    first = pieces[: len(SPECIAL)]
    if tuple(first) != SPECIAL or MARK not in pieces or len({*pieces}) < len(pieces):
        start = " ".join(escape(piece[:20]) for piece in first)
        raise UserError(
            f"{path} starts with {start}: expected the wordpieces of a dataset, a different one "
            f"per line, first {' '.join(SPECIAL)}, and {MARK} where a word starts"
        )
    return pieces


def _listed(ids: dict[str, int]) -> str:
    return ", ".join(f"{name} {id if id >= 0 else 'none'}" for name, id in ids.items())
