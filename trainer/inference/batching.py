"""Translating many sentences: in batches of similar length, one on each core."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import tensorflow as tf
from absl import logging

from model.search.candidates import IMPOSSIBLE
from trainer.runtime.startup import processor_cores

Translate = Callable[..., dict[str, tf.Tensor]]

_SENTENCES_PER_BATCH = 64


class Translation(NamedTuple):
    """A translation, its log-probability in nats divided by the length penalty, and what it lacks.

    source_tokens_cut: subwords at the source's end that were left out since it was too long.
    n_best: if several were asked for, all that were found and their scores, best first.
    """

    text: str
    score: float
    source_tokens_cut: int = 0
    n_best: tuple[tuple[str, float], ...] = ()


def translate_all(
    translate: Translate,
    sentences: Sequence[str],
    prefixes: Sequence[str] | None = None,
    *,
    batches_at_once: int | None = None,
) -> list[Translation]:
    """Translates any number of sentences in batches of similar length, and keeps their order.

    The steps of search are too small to share among processor cores: each core has a batch. Says
    how many sentences were too long to be translated as a whole.

    Args:
        translate: `Translator.translate` or `translate_nbest`, or an exported model's
            `serving_default`; with prefixes `translate_with_prefix`.
        sentences: one sentence each.
        prefixes: what the translation of each begins with.
        batches_at_once: so many threads, for those who share the cores with other processes.
    """
    inputs = {"text": sentences} if prefixes is None else {"text": sentences, "prefix": prefixes}
    order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    batches = [
        order[start : start + _SENTENCES_PER_BATCH]
        for start in range(0, len(order), _SENTENCES_PER_BATCH)
    ]

    def translate_batch(rows: list[int]) -> list[Translation]:
        result = translate(
            **{name: tf.constant([texts[row] for row in rows]) for name, texts in inputs.items()}
        )
        return _read_n_best(result) if "translations" in result else _read_best(result)

    translations: dict[int, Translation] = {}
    with ThreadPoolExecutor(batches_at_once or _batches_at_once()) as pool:
        for rows, found in zip(batches, pool.map(translate_batch, batches), strict=True):
            translations.update(zip(rows, found, strict=True))
    if cut := sum(translation.source_tokens_cut > 0 for translation in translations.values()):
        logging.warning("%d sentences were longer than --max_source_length and cut there", cut)
    return [translations[row] for row in range(len(sentences))]


def _read_best(result: dict[str, tf.Tensor]) -> list[Translation]:
    columns = (result[name].numpy() for name in ("translation", "score", "source_tokens_cut"))
    return [
        Translation(text.decode("utf-8"), float(score), int(cut))
        for text, score, cut in zip(*columns, strict=True)
    ]


def _read_n_best(result: dict[str, tf.Tensor]) -> list[Translation]:
    columns = (result[name].numpy() for name in ("translations", "scores", "source_tokens_cut"))
    translations = []
    for texts, scores, cut in zip(*columns, strict=True):
        n_best = tuple(
            (text.decode("utf-8"), float(score))
            for text, score in zip(texts, scores, strict=True)
            if score > IMPOSSIBLE / 2
        )
        translations.append(Translation(*n_best[0], int(cut), n_best))
    return translations


def _batches_at_once() -> int:
    """One for each core; a GPU is kept busy, and its memory filled, by a single one."""
    return 1 if tf.config.list_logical_devices("GPU") else processor_cores()
