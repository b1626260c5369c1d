"""Sampling: what it draws from, worked out for a language of known probabilities."""

import dataclasses

import numpy as np
import pytest
from keras import ops

from model.config import SearchConfig
from model.search.candidates import IMPOSSIBLE, TopTokens
from model.search.sampling import random_numbers, sample_candidates, sentence_keys
from tests.helpers.small_models import numpy
from tests.helpers.toy_language import END, ToyLanguage, score

PROBABILITIES = np.array([0.4, 0.3, 0.2, 0.1])
TOKENS = [5, 3, 9, 7]
# Evenly spread random numbers stand in for 1,000 draws.
DRAWS = (np.arange(1000, dtype=np.float32) + 0.5) / 1000


def shares(config: SearchConfig, forbidden: int | None = None) -> list[float]:
    """How often each token is drawn."""
    log_probs = np.log(PROBABILITIES).astype(np.float32)
    if forbidden is not None:
        log_probs[forbidden] = IMPOSSIBLE
    tiled = np.tile(log_probs, (1, 1000, 1)), np.tile(TOKENS, (1, 1000, 1))
    top = TopTokens(*map(ops.convert_to_tensor, tiled))
    drawn = sample_candidates(top, ops.zeros((1, 1000)), ops.convert_to_tensor(DRAWS[None]), config)
    assert numpy(drawn.parents).tolist() == [list(range(1000))]
    expected = log_probs[[TOKENS.index(token) for token in numpy(drawn.tokens)[0]]]
    np.testing.assert_array_equal(numpy(drawn.log_probs)[0], expected)
    return [float((numpy(drawn.tokens) == token).mean()) for token in TOKENS]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, PROBABILITIES),
        ({"temperature": 0.5}, PROBABILITIES**2 / (PROBABILITIES**2).sum()),
        ({"temperature": 2.0}, PROBABILITIES**0.5 / (PROBABILITIES**0.5).sum()),
        ({"top_k": 2}, [4 / 7, 3 / 7, 0, 0]),
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"top_p": 0.5}, [4 / 7, 3 / 7, 0, 0]),
        ({"top_p": 0.75}, [4 / 9, 3 / 9, 2 / 9, 0]),
        ({"top_p": 0.01}, [1, 0, 0, 0]),
        ({"top_k": 3, "top_p": 0.7}, [4 / 7, 3 / 7, 0, 0]),
    ],
)
def test_tokens_are_drawn_as_often_as_they_are_probable(options: dict, expected: list) -> None:
    config = SearchConfig(**({"temperature": 1.0} | options))
    np.testing.assert_allclose(shares(config), expected, atol=2e-3)


def test_what_a_rule_forbids_is_not_drawn_and_does_not_count() -> None:
    config = SearchConfig(temperature=1.0, top_k=2)
    np.testing.assert_allclose(shares(config, forbidden=1), [4 / 6, 0, 2 / 6, 0], atol=2e-3)


def test_samples_follow_the_rules_and_have_the_scores_of_search() -> None:
    language, starts = ToyLanguage(vocabulary_size=7, seed=3), list(range(12))
    config = SearchConfig(6, 6, temperature=1.0, min_length=3, no_repeat_ngram=2)
    translations = language.search(starts, [8] * 12, config)
    lengths = set()
    for samples, start in zip(translations, starts, strict=True):
        assert len(samples) == 6
        assert len({tokens for _, tokens in samples}) > 1
        for total, tokens in samples:
            assert total == pytest.approx(score(language, start, tokens, config), rel=1e-5)
            bigrams = list(zip(tokens, tokens[1:], strict=False))
            assert len({*bigrams}) == len(bigrams) or len(tokens) == 8
            lengths.add(len(tokens))
    assert min(lengths) >= 3 and max(lengths) <= 8 and len(lengths) > 2


def test_sampling_from_the_best_token_alone_is_greedy_search() -> None:
    language, starts = ToyLanguage(vocabulary_size=7, seed=3), list(range(20))
    greedy = language.search(starts, [6] * 20, SearchConfig(1))
    assert language.search(starts, [6] * 20, SearchConfig(1, temperature=2.0, top_k=1)) == greedy


def test_samples_depend_only_on_the_sentence_and_the_seed() -> None:
    language, config = ToyLanguage(vocabulary_size=7, seed=3), SearchConfig(3, 3, temperature=1.0)
    source = np.array([[4, 5, 1, 0], [4, 5, 6, 1], [5, 4, 1, 0], [4, 5, 1, 0]])

    def sample(rows: list[int], seed: int = 1) -> list:
        translations = language.search(
            [8] * len(rows),
            [9] * len(rows),
            dataclasses.replace(config, sampling_seed=seed),
            source=source[rows],
        )
        return [[tokens for _, tokens in samples] for samples in translations]

    first, second, third, first_again = together = sample([0, 1, 2, 3])
    assert first == first_again
    assert len({repr(samples) for samples in (first, second, third)}) == 3
    assert sample([2, 0]) == [third, first]
    assert sample([1]) == [second]
    assert sample([0, 1, 2, 3], seed=2) != together
    assert all(tokens[-1] == END for samples in together for tokens in samples)


def test_padding_does_not_change_a_sentences_random_numbers() -> None:
    keys = numpy(sentence_keys(ops.convert_to_tensor([[4, 5, 1], [4, 1, 5], [4, 1, 0]])))
    padded = numpy(sentence_keys(ops.convert_to_tensor([[4, 5, 1, 0, 0], [4, 1, 0, 0, 0]])))
    assert len({*keys.tolist()}) == 3
    assert padded.tolist() == [keys[0], keys[2]]


def test_random_numbers_are_evenly_spread_and_independent() -> None:
    """Of neighbouring sentences, positions, hypotheses and seeds; limits are 5 standard errors."""
    tokens = np.stack([np.arange(2, 52), np.full(50, END)], axis=1)
    keys = sentence_keys(ops.convert_to_tensor(tokens, dtype="int32"))
    numbers = np.stack(
        [
            [numpy(random_numbers(keys, at, width=8, seed=seed)) for at in range(40)]
            for seed in (-1, 0, 1, 2**32 + 2)
        ]
    )  # [seed, position, sentence, hypothesis]
    assert numbers.min() >= 0 and numbers.max() < 1
    assert np.unique(numbers).size > 0.99 * numbers.size  # of 2²⁴ possible
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    expected = numbers.size / 20
    np.testing.assert_allclose(counts, expected, atol=5 * expected**0.5)
    for axis in range(4):
        before = np.delete(numbers, -1, axis=axis).ravel()
        after = np.delete(numbers, 0, axis=axis).ravel()
        assert abs(np.corrcoef(before, after)[0, 1]) < 5 / before.size**0.5
