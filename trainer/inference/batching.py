"""Translation of many sentences: batches of similar length, one on each core or replica."""

import contextlib
import queue
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import tensorflow as tf
from absl import logging

from model.search.candidates import IMPOSSIBLE
from trainer.data.raw_text import tag_sentences
from trainer.runtime.startup import processor_cores

Translate = Callable[..., dict[str, tf.Tensor]]
Scope = Callable[[], contextlib.AbstractContextManager[None]]

_SENTENCES_PER_BATCH = 64


class Translation(NamedTuple):
    """A translation.

    score: log-probability in nats, divided by the length penalty.
    source_tokens_cut: subwords cut off the end of a source that was too long.
    n_best: if several were asked for, all translations and their scores, best first.
    is_repaired: of a parser, whether its symbols had to be made a tree; else None.
    """

    text: str
    score: float
    source_tokens_cut: int = 0
    n_best: tuple[tuple[str, float], ...] = ()
    is_repaired: bool | None = None


def translate_all(
    translate: Translate,
    sentences: Sequence[str],
    prefixes: Sequence[str] | None = None,
    *,
    batches_at_once: int | None = None,
    scopes: Sequence[Scope] = (),
) -> list[Translation]:
    """Translates any number of sentences in batches of similar length; keeps their order.

    The steps of search are too small to be divided among processor cores, so each core translates
    a batch of its own. Logs how many sentences were too long to be translated whole, and how many
    trees were repaired.

    Args:
        translate: `Translator.translate` or `translate_nbest`, or an exported model's
            `serving_default`; with prefixes, `translate_with_prefix`.
        sentences: the source sentences.
        prefixes: the beginning of each translation.
        batches_at_once: number of threads; by default `count_parallel_batches()`. Processes that
            share the cores give fewer.
        scopes: of the devices that translate a batch each at a time (`replica_scopes`), instead of
            the default device.
    """
    inputs = {"text": sentences} if prefixes is None else {"text": sentences, "prefix": prefixes}
    order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    batches = [
        order[start : start + _SENTENCES_PER_BATCH]
        for start in range(0, len(order), _SENTENCES_PER_BATCH)
    ]

    scopes = scopes or [contextlib.nullcontext] * (batches_at_once or count_parallel_batches())
    free: queue.SimpleQueue[Scope] = queue.SimpleQueue()
    for scope in scopes:
        free.put(scope)

    def translate_batch(rows: list[int]) -> list[Translation]:
        batch = {name: [texts[row] for row in rows] for name, texts in inputs.items()}
        scope = free.get()
        try:
            with scope():
                result = translate(**{name: tf.constant(texts) for name, texts in batch.items()})
            return _read_n_best(result) if "translations" in result else _read_best(result)
        finally:
            free.put(scope)

    translations: dict[int, Translation] = {}
    with ThreadPoolExecutor(len(scopes)) as pool:
        for rows, batch in zip(batches, pool.map(translate_batch, batches), strict=True):
            translations.update(zip(rows, batch, strict=True))
    _warn(translations.values())
    return [translations[row] for row in range(len(sentences))]


def translate_in_parts(translate: Translate, most: int) -> Translate:
    """Returns a function that calls another one with at most `most` sentences at a time."""

    def translate_parts(**inputs: Any) -> dict[str, tf.Tensor]:
        count = max(len(texts) for texts in inputs.values())
        parts = [
            translate(**{name: texts[start : start + most] for name, texts in inputs.items()})
            for start in range(0, max(count, 1), most)
        ]
        return {name: tf.concat([part[name] for part in parts], axis=0) for name in parts[0]}

    return translate_parts


def with_source_tag(translate: Translate, tag: str) -> Translate:
    """Returns a function that puts a tag before each sentence and then translates; "" for none."""
    if not tag:
        return translate

    def translate_tagged(text: tf.Tensor, **inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        sentences = [sentence.decode("utf-8") for sentence in text.numpy()]
        return translate(text=tf.constant(tag_sentences(tag, sentences), tf.string), **inputs)

    return translate_tagged


def count_parallel_batches() -> int:
    """Returns one batch per processor core, or 1 with a GPU, whose memory one batch may fill."""
    return 1 if tf.config.list_logical_devices("GPU") else processor_cores()


def _warn(translations: Collection[Translation]) -> None:
    """Logs how many sentences were cut, and how many trees were repaired."""
    cut = sum(translation.source_tokens_cut > 0 for translation in translations)
    repaired = sum(translation.is_repaired or False for translation in translations)
    for problem, count in (
        ("longer than --max_source_length and cut there", cut),
        ("repaired, because the symbols were no tree over the words", repaired),
    ):
        if count:
            logging.warning("%s: %d of %d sentences", problem, count, len(translations))


def _read_best(result: dict[str, tf.Tensor]) -> list[Translation]:
    columns = (result[name].numpy() for name in ("translation", "score", "source_tokens_cut"))
    rows = zip(*columns, _read_repaired(result), strict=True)
    return [
        Translation(text.decode("utf-8"), float(score), int(cut), is_repaired=repaired)
        for text, score, cut, repaired in rows
    ]


def _read_n_best(result: dict[str, tf.Tensor]) -> list[Translation]:
    columns = (result[name].numpy() for name in ("translations", "scores", "source_tokens_cut"))
    translations = []
    for texts, scores, cut, repaired in zip(*columns, _read_repaired(result), strict=True):
        n_best = tuple(
            (text.decode("utf-8"), float(score))
            for text, score in zip(texts, scores, strict=True)
            if score > IMPOSSIBLE / 2
        )
        translations.append(Translation(*n_best[0], int(cut), n_best, repaired))
    return translations


def _read_repaired(result: dict[str, tf.Tensor]) -> Sequence[bool | None]:
    """Returns whether the best translation of each sentence was repaired."""
    if "is_repaired" not in result:
        return [None] * len(result["source_tokens_cut"])
    repaired = result["is_repaired"].numpy()
    return (repaired[:, 0] if repaired.ndim == 2 else repaired).tolist()
