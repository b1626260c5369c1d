"""Force-decoding: what a model thinks of given translations, token by token."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from model.search.penalties import length_penalty
from pipeline.dataset.schema import PADDING_ID
from pipeline.subwords.encoding import load_subwords
from trainer.inference.translator import Translator

_PAIRS_PER_BLOCK = 2_000
_TOKENS_PER_BATCH = 4_096  # padded, a side, whose logits and attention are in memory at once


def score_all(
    translator: Translator, subwords_path: Path, source: Sequence[str], target: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Scores any number of translations, in batches of similar length, and keeps their order.

    Args:
        translator: the model and its subwords; an ensemble scores as its average.
        subwords_path: of the target's subwords, whose spelling is reported.
        source: one sentence each.
        target: likewise, their translations.

    Yields:
        per pair `log_prob`, nats; `score`, `log_prob` divided by the length penalty; `tokens`, the
        subwords, the end symbol last; and `token_log_probs`, nats of each.
    """
    subwords, too_long = load_subwords(subwords_path), 0
    for start in range(0, len(source), _PAIRS_PER_BLOCK):
        sources, targets = (
            tf.constant(side[start : start + _PAIRS_PER_BLOCK]) for side in (source, target)
        )
        source_ids, cut = translator.source_ids(sources)
        source_ids = source_ids.numpy()
        target_ids = translator.target_ops.tokenize(targets).numpy()
        too_long += int(np.count_nonzero(cut))
        rows: dict[int, dict[str, Any]] = {}
        for batch in _batches(np.maximum(_lengths(source_ids), _lengths(target_ids))):
            ids = _trimmed(target_ids[batch])
            log_probs = translator.token_log_probs(_trimmed(source_ids[batch]), ids).numpy()
            lengths = _lengths(ids)
            penalties = length_penalty(lengths, translator.search).numpy()
            for row, tokens, each, length, penalty in zip(
                batch, ids, log_probs, lengths, penalties, strict=True
            ):
                total = float(each.sum())
                rows[row] = {
                    "log_prob": total,
                    "score": total / float(penalty),
                    "tokens": subwords.pieces(tokens[:length].tolist()),
                    "token_log_probs": each[:length].tolist(),
                }
        yield from (rows[row] for row in range(len(rows)))
    if too_long:
        logging.warning("%d sources were longer than --max_source_length and cut there", too_long)


def _batches(lengths: np.ndarray) -> Iterator[list[int]]:
    """Yields rows of similar length, as many as have room together."""
    batch: list[int] = []
    for row in np.argsort(lengths, kind="stable").tolist():
        if batch and (len(batch) + 1) * lengths[row] > _TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(row)
    yield batch


def _lengths(ids: np.ndarray) -> np.ndarray:
    return np.count_nonzero(ids != PADDING_ID, axis=1)


def _trimmed(ids: np.ndarray) -> np.ndarray:
    """Leaves out columns of nothing but padding."""
    return ids[:, : _lengths(ids).max()]
