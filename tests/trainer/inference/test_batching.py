import os
import threading

import numpy as np
import pytest
import tensorflow as tf

from trainer.inference.batching import (
    count_parallel_batches,
    translate_all,
    translate_in_parts,
)
from trainer.inference.translations import Translation


def shout(text: tf.Tensor) -> dict[str, tf.Tensor]:
    """Stands in for a model, and refuses batches that are too large to be meant."""
    assert text.shape[0] <= 64
    score = tf.cast(tf.strings.length(text), tf.float32)
    cut = tf.zeros_like(score, tf.int32)
    return {"translation": tf.strings.upper(text), "score": score, "source_tokens_cut": cut}


@pytest.mark.parametrize("number", [0, 1, 63, 64, 65, 200])
def test_translations_come_in_the_order_of_the_sentences(number: int) -> None:
    lengths = np.random.default_rng(number).integers(0, 40, size=number)
    sentences = [f"{row}" + "x" * int(length) for row, length in enumerate(lengths)]
    expected = [Translation(sentence.upper(), len(sentence)) for sentence in sentences]
    assert translate_all(shout, sentences) == expected


def test_batches_hold_sentences_of_similar_length() -> None:
    seen: list[list[int]] = []

    def record(text: tf.Tensor) -> dict[str, tf.Tensor]:
        seen.append([len(sentence) for sentence in text.numpy()])
        return shout(text)

    translate_all(record, ["x" * (row % 40) for row in range(160)])
    lengths = [length for batch in sorted(seen, reverse=True) for length in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_batches_are_translated_in_parallel() -> None:
    meeting = threading.Barrier(3, timeout=60)  # passes when three wait at it

    def meet(text: tf.Tensor) -> dict[str, tf.Tensor]:
        meeting.wait()
        return shout(text)

    assert len(translate_all(meet, ["x"] * 3 * 64, batches_at_once=3)) == 3 * 64


@pytest.mark.parametrize(("gpus", "expected"), [(0, 3), (2, 1)])
def test_each_core_translates_a_batch_and_a_gpu_one_at_a_time(
    gpus: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda _: ["a device"] * gpus)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert count_parallel_batches() == expected


def test_parts_with_words_of_different_numbers_are_joined() -> None:
    def align(text: tf.Tensor) -> dict[str, tf.Tensor]:
        words = tf.strings.split(text).to_tensor("")
        return shout(text) | {"word_confidence": tf.cast(words != "", tf.float32)}

    sentences = tf.constant(["a", "b c d", "e f"])
    received = translate_in_parts(align, 1)(text=sentences)
    assert received["word_confidence"].numpy().tolist() == [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
    assert received["translation"].numpy().tolist() == [b"A", b"B C D", b"E F"]
