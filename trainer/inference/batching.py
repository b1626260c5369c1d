"""Translation of many sentences: batches of similar length, one on each core or replica."""

import contextlib
import queue
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import tensorflow as tf
from absl import logging

from trainer.data.raw_text import tag_sentences
from trainer.inference.translations import Translation, drop_source_tag, read_translations
from trainer.runtime.startup import processor_cores

Translate = Callable[..., dict[str, tf.Tensor]]
Scope = Callable[[], contextlib.AbstractContextManager[None]]

_SENTENCES_PER_BATCH = 64


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
            return read_translations(result)
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
        return {name: _join([part[name] for part in parts]) for name in parts[0]}

    return translate_parts


def _join(parts: Sequence[tf.Tensor]) -> tf.Tensor:
    """Joins outputs of batches; the last axis of those with several is padded to one length."""
    if parts[0].ndim == 1:
        return tf.concat(parts, axis=0)
    longest = max(part.shape[-1] for part in parts)
    paddings = [[0, 0]] * (parts[0].ndim - 1)
    padded = [tf.pad(part, [*paddings, [0, longest - part.shape[-1]]]) for part in parts]
    return tf.concat(padded, axis=0)


def with_source_tag(translate: Translate, tag: str) -> Translate:
    """Returns a function that puts a tag before each sentence and then translates; "" for none.

    Alignments do not count the tag as a word, and have no links to it.
    """
    if not tag:
        return translate

    def translate_tagged(text: tf.Tensor, **inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        sentences = [sentence.decode("utf-8") for sentence in text.numpy()]
        tagged = tf.constant(tag_sentences(tag, sentences), tf.string)
        return drop_source_tag(translate(text=tagged, **inputs))

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
