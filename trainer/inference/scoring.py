"""Forced decoding: the log-probabilities of given translations, token by token."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from model.search.penalties import length_penalty
from pipeline.dataset.schema import PADDING_ID
from pipeline.subwords.encoding import Subwords, load_subwords
from trainer.inference.translator import Translator


class ScoredPair(NamedTuple):
    """The score of a translation.

    log_prob: of the whole translation, in nats.
    score: `log_prob` divided by the length penalty.
    tokens: the subwords of the translation and the end symbol.
    token_log_probs: of each token, in nats.
    """

    log_prob: float
    score: float
    tokens: list[str]
    token_log_probs: list[float]


def score_all(
    translator: Translator,
    subwords_path: Path,
    source: Sequence[str],
    target: Sequence[str],
    *,
    pairs_per_block: int = 2_000,
    tokens_per_batch: int = 4_096,
) -> Iterator[ScoredPair]:
    """Scores any number of translations in batches of similar length; keeps their order.

    Args:
        translator: the model and its subwords; an ensemble scores as its average.
        subwords_path: file of the target's subwords, which gives `ScoredPair.tokens`.
        source: sentences.
        target: the translation of each sentence.
        pairs_per_block: pairs that are sorted by length together.
        tokens_per_batch: padded tokens of each side whose logits and attention are in memory at
            once; a longer sentence is a batch of its own.
    """
    subwords = load_subwords(subwords_path)
    too_long = 0
    for start in range(0, len(source), pairs_per_block):
        block = slice(start, start + pairs_per_block)
        source_ids, cut = translator.source_ids(tf.constant(source[block]))
        target_ids = translator.target_ops.tokenize(tf.constant(target[block]))
        too_long += int(np.count_nonzero(cut))
        ids = source_ids.numpy(), target_ids.numpy()
        yield from _score_block(translator, subwords, *ids, tokens_per_batch=tokens_per_batch)
    if too_long:
        logging.warning("%d sources were longer than --max_source_length and cut there", too_long)


def _score_block(
    translator: Translator,
    subwords: Subwords,
    source_ids: np.ndarray,
    target_ids: np.ndarray,
    *,
    tokens_per_batch: int,
) -> list[ScoredPair]:
    """Scores pairs of ids, `[B, S]` and `[B, T]`."""
    scored: dict[int, ScoredPair] = {}
    lengths = np.maximum(_count_tokens(source_ids), _count_tokens(target_ids))
    for rows in _batch_by_length(lengths, tokens_per_batch):
        targets = _trim(target_ids[rows])
        log_probs = translator.token_log_probs(_trim(source_ids[rows]), targets).numpy()
        target_lengths = _count_tokens(targets)
        penalties = length_penalty(target_lengths, translator.search).numpy()
        for place, row in enumerate(rows):
            length = target_lengths[place]
            log_prob = float(log_probs[place].sum())
            scored[row] = ScoredPair(
                log_prob=log_prob,
                score=log_prob / float(penalties[place]),
                tokens=subwords.pieces(targets[place, :length].tolist()),
                token_log_probs=log_probs[place, :length].tolist(),
            )
    return [scored[row] for row in range(len(scored))]


def _batch_by_length(lengths: np.ndarray, tokens_per_batch: int) -> Iterator[list[int]]:
    """Yields rows of similar length, as many as fit into a batch."""
    batch: list[int] = []
    for row in np.argsort(lengths, kind="stable").tolist():
        if batch and (len(batch) + 1) * lengths[row] > tokens_per_batch:
            yield batch
            batch = []
        batch.append(row)
    yield batch


def _count_tokens(ids: np.ndarray) -> np.ndarray:
    """Counts the tokens of each row, `[B]`, of ids `[B, T]`."""
    return np.count_nonzero(ids != PADDING_ID, axis=1)


def _trim(ids: np.ndarray) -> np.ndarray:
    """Removes the columns that hold padding only."""
    return ids[:, : _count_tokens(ids).max()]
