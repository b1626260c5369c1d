"""Words are counted, linked and scored from the tokens of any vocabulary."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pipeline.dataset.schema import END_ID, PADDING_ID
from pipeline.subwords.encoding import load_subwords
from tests.helpers.datasets import learn_subwords
from tests.trainer.inference.test_tokenization import HARD_LINES
from trainer.inference.tokenization import TextOps, load_text_ops
from trainer.inference.words import NO_WORD, WordCounter, link_words, word_confidence


@pytest.fixture(scope="module", params=["bpe", "wordpiece", "symbols"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("subwords")
    return learn_subwords(request.param, folder, 600, tags=("<2de>", "<bt>"))


@pytest.fixture(scope="module")
def ops(path: Path) -> TextOps:
    return load_text_ops(path)


def tokenize(ops: TextOps, lines: list[str]) -> list[list[int]]:
    return [[id for id in row if id > END_ID] for row in ops.tokenize(lines).numpy().tolist()]


def words_of(ops: TextOps, rows: list[list[int]]) -> list[list[int]]:
    closed = tf.ragged.constant([[*row, END_ID, PADDING_ID] for row in rows]).to_tensor(PADDING_ID)
    numbers = ops.words.word_of_tokens(tf.cast(closed, tf.int32)).numpy().tolist()
    assert all({*row[len(ids) :]} == {NO_WORD} for row, ids in zip(numbers, rows, strict=True))
    return [row[: len(ids)] for row, ids in zip(numbers, rows, strict=True)]


def test_the_tokens_up_to_a_word_s_last_one_spell_so_many_words(ops: TextOps, path: Path) -> None:
    """Of sentences, and of random tokens, such as a model that has learned nothing writes."""
    generator, subwords = random.Random(1), load_subwords(path)
    rows = tokenize(ops, HARD_LINES)
    size = subwords.vocabulary_size
    rows += [[generator.randrange(3, size) for _ in range(12)] for _ in range(50)]
    for ids, words in zip(rows, words_of(ops, rows), strict=True):
        for number in range(max(words, default=NO_WORD)):
            last = max(place for place, word in enumerate(words) if word == number)
            spelled = [len(subwords.decode([ids[:end]])[0].encode().split())
                       for end in (last + 1, len(ids))]  # fmt: skip
            assert spelled == [number + 1, max(words) + 1], (number, subwords.pieces(ids))


def test_the_words_of_a_source_are_those_of_its_line(ops: TextOps) -> None:
    for line, words in zip(HARD_LINES, words_of(ops, tokenize(ops, HARD_LINES)), strict=True):
        assert sorted({*words} - {NO_WORD}) == list(range(len(line.encode().split()))), line


def test_pieces_with_spaces_anywhere_are_counted() -> None:
    texts = ["", "", " a", " ", "b", "c ", "d e", " f g "]
    counter = WordCounter(texts)
    cases = {
        (2, 4, 2, 1, 0): [0, 0, 1, -1, -1],  # " ab a"
        (3, 4, 3, 2, 1): [0, 0, 1, 1, -1],  # " b  a"
        (4, 5, 4, 6, 4): [0, 0, 1, 1, 2],  # "bc bd eb"
        (7, 4, 3, 3, 1): [0, 2, -1, -1, -1],  # " f g b", then spaces before no word
        (3, 3, 1, 0, 0): [-1, -1, -1, -1, -1],
    }
    received = counter.word_of_tokens(tf.constant([list(ids) for ids in cases])).numpy()
    assert received.tolist() == list(cases.values())


def test_a_word_is_linked_to_the_word_that_its_tokens_attend_to_most() -> None:
    source_words = tf.constant([[0, 0, 1, -1], [0, 1, -1, -1], [-1, -1, -1, -1]])
    target_words = tf.constant([[0, 1, 1, -1], [0, 0, 0, -1], [0, -1, -1, -1]])
    attention = tf.constant(
        [
            # By token, word 1 is first; by word, 0.2 + 0.25 is more than 0.4.
            [[0.2, 0.25, 0.4, 0.15], [0.3, 0.3, 0.4, 0.0], [0.0, 0.0, 0.9, 0.1], [1.0, 0, 0, 0]],
            # The end symbol does not count, whatever its weight.
            [[0.3, 0.1, 0.6, 0.0], [0.1, 0.2, 0.7, 0.0], [0.1, 0.3, 0.6, 0.0], [1.0, 0, 0, 0]],
            [[1.0, 0.0, 0.0, 0.0]] * 4,  # the source has no word
        ]
    )
    links = link_words(attention, source_words, target_words).numpy().tolist()
    assert links == [b"0-0 1-1", b"1-0", b""]
    nothing = tf.fill((1, 1), NO_WORD)
    assert link_words(tf.ones((1, 1, 1)), nothing, nothing).numpy().tolist() == [b""]
    none = tf.zeros((0, 1), tf.int32)
    assert link_words(tf.ones((0, 1, 1)), none, none).shape == (0,)


def test_the_confidence_of_a_word_is_the_product_of_its_tokens_probabilities() -> None:
    log_probs = tf.math.log([[0.5, 0.5, 0.25, 0.1], [0.5, 1.0, 1.0, 1.0]])
    words = tf.constant([[0, 1, 1, -1], [-1, -1, -1, -1]])
    confidence = word_confidence(log_probs, words).numpy()
    np.testing.assert_allclose(confidence, [[0.5, 0.125], [0.0, 0.0]], rtol=1e-6)
    certain = word_confidence(tf.constant([[-math.inf, 0.0]]), tf.constant([[0, -1]]))
    assert certain.numpy().tolist() == [[0.0]]
