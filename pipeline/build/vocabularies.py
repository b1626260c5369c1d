"""Vocabularies of a dataset: learned from its training text, or given by the user.

The trainer and the served model rely on the special ids, and sentences are encoded word by word.
Given subwords with other conventions are refused before any work.
"""

import dataclasses
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
from pipeline.subwords import symbols
from pipeline.subwords.encoding import (
    BPE,
    FILE_NAMES,
    SYMBOLS,
    WORDPIECE,
    file_names,
    load_subwords,
)
from pipeline.subwords.learning import LEARNERS, VocabularyTooLarge
from pipeline.subwords.sharing import check_tag
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
    plans = _plan(config)
    for number, plan in enumerate(plans):
        path = f"{folder}/{plan.file_name}"
        if config.subwords_model:
            write_atomically(path, storage.read(config.subwords_model[number]))
        elif not storage.is_file(path):
            _learn(plan, config, count(plan.sides), path)
    return {side: _identify(plan, folder) for plan in plans for side in plan.sides}


@dataclasses.dataclass(frozen=True)
class _Plan:
    """A vocabulary to learn or to copy.

    size_flag: flag of its size, and `size`, its value.
    tags: words with a piece of their own.
    """

    kind: str
    sides: tuple[str, ...]
    file_name: str
    size_flag: str
    size: int | None
    tags: tuple[str, ...] = ()


def _plan(config: PreprocessConfig) -> list[_Plan]:
    """Returns the plan of the vocabulary that both sides share, or those of source and target."""
    kind, is_shared = config.subwords, config.shared_vocabulary
    source, target = file_names(kind, shared=is_shared).values()
    both = _Plan(kind, SIDES, source, "vocabulary_size", config.vocabulary_size)
    tagged = dataclasses.replace(both, tags=config.sharing.tags)
    if is_shared:
        return [tagged]
    if config.has_trees:
        file_name = file_names(SYMBOLS, shared=False)["target"]
        target_plan = _Plan(SYMBOLS, SIDES[1:], file_name, "trees", None)
    elif config.target_vocabulary_size is None:
        target_plan = dataclasses.replace(both, sides=SIDES[1:], file_name=target)
    else:
        size = config.target_vocabulary_size
        target_plan = _Plan(kind, SIDES[1:], target, "target_vocabulary_size", size)
    return [dataclasses.replace(tagged, sides=SIDES[:1]), target_plan]


def _learn(plan: _Plan, config: PreprocessConfig, counts: WordCounts, path: str) -> None:
    if plan.kind == SYMBOLS:
        symbols.write(counts.words, path, tags=config.treebank.tree_tags)
        return
    learn = LEARNERS[plan.kind]
    characters = len(set().union(*counts.words))
    suitable = choose_vocabulary_size(plan.kind, counts.pairs, characters)
    size = plan.size or suitable
    distinct = len(counts.words)
    logging.info("LearnSubwords: %s of %d from %d distinct words", plan.kind, size, distinct)
    try:
        learn(counts.words, size, path, tags=plan.tags)
    except VocabularyTooLarge as error:
        if plan.size is None:
            learn(counts.words, error.largest, path, tags=plan.tags)
            return
        raise UserError(
            f"{error}, with few words in several pieces; leave the flag out for "
            f"{min(suitable, error.largest)}, which suits {counts.pairs:,} pairs"
        ) from error


def _identify(plan: _Plan, folder: str) -> Vocabulary:
    path = f"{folder}/{plan.file_name}"
    digest = hashlib.sha256(storage.read(path)).hexdigest()
    return Vocabulary(plan.kind, plan.file_name, digest, load_subwords(path).vocabulary_size)


def check_given(config: PreprocessConfig) -> list[str]:
    """Checks the given subwords; returns the SHA-256 of each.

    Raises:
        UserError: a file is missing, differs from the flags in kind or size, has other special ids,
          does not encode word by word, or lacks the source tag; or TensorFlow Text is required
          and not installed.
    """
    if config.subwords == WORDPIECE:
        tokenizer(SPECIAL)  # raises if TensorFlow Text is not installed
    plans = _plan(config) if config.subwords_model else ()
    given = list(zip(config.subwords_model, plans, strict=True))
    checksums = [_check(path, plan) for path, plan in given]
    if given and config.sharing.source_tag:
        check_tag(config.sharing.source_tag, config.subwords_model[0])
    return checksums


def _check(path: str, plan: _Plan) -> str:
    if not storage.is_file(path):
        expected = f"--subwords_model=DIR/{FILE_NAMES[plan.kind]} or the like"
        raise UserError(f"no file {path}: expected {expected}")
    data = storage.read(path)
    checks = {BPE: _check_model, WORDPIECE: _check_wordpieces, SYMBOLS: _check_symbols}
    pieces = checks[plan.kind](path, data)
    if plan.size not in (None, len(pieces)):
        raise UserError(
            f"{path} has {len(pieces)} subwords, received --{plan.size_flag}={plan.size}: leave it "
            "out, or learn subwords without --subwords_model"
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


def _check_symbols(path: str, data: bytes) -> Sequence[str]:
    """Returns the symbols of a vocabulary of trees.

    Raises:
        UserError: the vocabulary cannot be used.
    """
    pieces = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    if tuple(pieces[: len(symbols.RESERVED)]) != symbols.RESERVED:
        raise UserError(
            f"{path} starts with {' '.join(escape(piece[:20]) for piece in pieces[:3])}: expected "
            f"the symbols of a dataset of trees, one per line, first {' '.join(symbols.RESERVED)}"
        )
    return pieces


def _listed(ids: dict[str, int]) -> str:
    return ", ".join(f"{name} {id if id >= 0 else 'none'}" for name, id in ids.items())
