"""Force-decoding: what a model thinks of given translations, token by token."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from model.penalties import length_penalty
from pipeline.schema import PADDING_ID
from pipeline.subwords import load_subwords
from trainer.translator import Translator

_PAIRS_PER_BATCH = 64


def score_all(
    translator: Translator, subwords_path: Path, source: Sequence[str], target: Sequence[str]
) -> list[dict[str, Any]]:
    """Scores any number of translations, in batches of similar length, and keeps their order.

    Args:
        translator: the model and its subwords; an ensemble scores as its average.
        subwords_path: of the target's subwords, whose spelling is reported.
        source: one sentence each.
        target: likewise, their translations.

    Returns:
        per pair `log_prob`, nats; `score`, `log_prob` divided by the length penalty; `tokens`, the
        subwords, the end symbol last; and `token_log_probs`, nats of each.
    """
    subwords = load_subwords(subwords_path)
    rows: dict[int, dict[str, Any]] = {}
    too_long = 0
    order = sorted(range(len(source)), key=lambda row: len(source[row]) + len(target[row]))
    for start in range(0, len(order), _PAIRS_PER_BATCH):
        batch = order[start : start + _PAIRS_PER_BATCH]
        ids = translator.target_ops.tokenize(tf.constant([target[row] for row in batch]))
        source_ids, cut = translator.source_ids(tf.constant([source[row] for row in batch]))
        too_long += int(np.count_nonzero(cut))
        log_probs = translator.token_log_probs(source_ids, ids)
        lengths = np.count_nonzero(ids != PADDING_ID, axis=1)
        penalties = length_penalty(lengths, translator.search).numpy()
        for row, tokens, each, length, penalty in zip(
            batch, ids.numpy(), log_probs.numpy(), lengths, penalties, strict=True
        ):
            total = float(each.sum())
            rows[row] = {
                "log_prob": total,
                "score": total / float(penalty),
                "tokens": subwords.pieces(tokens[:length].tolist()),
                "token_log_probs": each[:length].tolist(),
            }
    if too_long:
        logging.warning("%d sources were longer than --max_source_length and cut there", too_long)
    return [rows[row] for row in range(len(source))]
