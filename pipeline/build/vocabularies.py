"""Checks of subwords that the user gives.

The trainer and the served model rely on the special ids, and sentences are encoded word by word.
Given subwords with other conventions are refused before any work.
"""

import hashlib
from collections.abc import Sequence

import sentencepiece
from absl import logging

from pipeline.blocks.vocabularies import VocabularyPlan, plan_vocabularies
from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.tables import escape
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import END_ID, PADDING_ID, UNKNOWN_ID
from pipeline.subwords import symbols
from pipeline.subwords.encoding import BPE, FILE_NAMES, SYMBOLS, WORDPIECE
from pipeline.subwords.sharing import check_tag
from pipeline.subwords.wordpiece import MARK, SPECIAL, tokenizer

_SPECIAL_IDS = {"padding": PADDING_ID, "end": END_ID, "unknown": UNKNOWN_ID}


def check_given(config: PreprocessConfig) -> list[str]:
    """Checks the given subwords; returns the SHA-256 of each.

    Raises:
        UserError: a file is missing, differs from the flags in kind or size, has other special ids,
          does not encode word by word, or lacks the source tag; or TensorFlow Text is required
          and not installed.
    """
    if config.subwords == WORDPIECE:
        tokenizer(SPECIAL)  # raises if TensorFlow Text is not installed
    given = [plan for plan in plan_vocabularies(config) if plan.given]
    checksums = [_check(str(plan.given), plan) for plan in given]
    if given and config.sharing.source_tag:
        check_tag(config.sharing.source_tag, config.subwords_model[0])
    return checksums


def _check(path: str, plan: VocabularyPlan) -> str:
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
