import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from model.config import SearchConfig
from model.masks import padding_mask
from model.search import beam_search, length_penalty
from model.transformer import Transformer
from tests.model.small import (
    BATCH,
    SOURCE,
    VOCABULARY,
    WIDTH,
    fill_with_waves,
    numpy,
    small_config,
)
from tests.model.toy_language import (
    END,
    PADDING,
    Hypothesis,
    ToyLanguage,
    hypotheses,
    search_everything,
    search_plainly,
)

STARTS, LIMITS = [5, 900, 77, 310], [4, 2, 3, 1]
ALPHAS = [0.0, 0.6, 2.0]


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [tokens for _, tokens in found] == [tokens for _, tokens in expected]
    scores = [score for score, _ in expected]
    np.testing.assert_allclose([score for score, _ in found], scores, rtol=1e-5)


@pytest.mark.parametrize(("length", "alpha", "expected"), [(1, 0.6, 1.0), (7, 1.0, 2.0)])
def test_penalty_is_the_papers(length: int, alpha: float, expected: float) -> None:
    assert float(length_penalty(length, alpha)) == pytest.approx(expected)
    assert float(length_penalty(13, 0.6)) == pytest.approx(3**0.6)
    assert float(length_penalty(length, 0.0)) == 1.0


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("vocabulary_size", [4, 5])
def test_beam_as_wide_as_the_language_finds_its_best(vocabulary_size: int, alpha: float) -> None:
    width = (vocabulary_size - 2) ** 3  # all words at the three places before the last end
    language = ToyLanguage(vocabulary_size, seed=vocabulary_size)
    found = language.search(STARTS, LIMITS, SearchConfig(width, alpha))
    for each, start, limit in zip(found, STARTS, LIMITS, strict=True):
        assert_same(each, search_everything(language, start, limit, alpha)[:width])


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("width", [2, 3])
def test_stopping_loses_nothing(width: int, alpha: float) -> None:
    starts, limits = list(range(0, 400, 10)), [3 + start % 7 for start in range(40)]
    language, config = ToyLanguage(vocabulary_size=7, seed=1), SearchConfig(width, alpha)
    found = language.search(starts, limits, config)
    for each, start, limit in zip(found, starts, limits, strict=True):
        assert_same(each, search_plainly(language, start, limit, config))


def test_search_stops_when_nothing_can_win() -> None:
    language = ToyLanguage(vocabulary_size=6, seed=2)
    language.logits[:, END] += 9.0
    language.search(STARTS, [500, 400, 300, 200], SearchConfig(2, length_penalty=0.0))
    assert language.steps <= 4


def test_beam_of_1_takes_the_best_token_until_the_end() -> None:
    language = ToyLanguage(vocabulary_size=5, seed=3)
    starts = list(range(30))
    found = language.search(starts, [6] * 30, SearchConfig(1))
    lengths = set()
    for (each,), start in zip(found, starts, strict=True):
        assert_same([each], search_plainly(language, start, 6, SearchConfig(1)))
        lengths.add(len(each[1]))
    assert len(lengths) > 3


@pytest.mark.parametrize("width", [1, 3])
def test_a_sentence_is_translated_alike_alone_and_beside_others(width: int) -> None:
    language, config = ToyLanguage(vocabulary_size=7, seed=4), SearchConfig(width)
    limits = [9, 2, 5, 3]
    together = language.search(STARTS, limits, config)
    alone = [
        language.search([start], [limit], config)[0]
        for start, limit in zip(STARTS, limits, strict=True)
    ]
    for beside, by_itself in zip(together, alone, strict=True):
        assert_same(beside, by_itself)


def test_translations_are_sorted_within_their_limit_and_never_hold_padding() -> None:
    language = ToyLanguage(vocabulary_size=7, seed=5)
    language.logits[:, PADDING] += 5.0  # the model's favourite
    limits = [9, 4, 6, 5]
    found = language.search(STARTS, limits, SearchConfig(3, length_penalty=4.0))
    for each, limit in zip(found, limits, strict=True):
        scores = [score for score, _ in each]
        assert scores == sorted(scores, reverse=True)
        assert max(len(tokens) for _, tokens in each) == limit
        assert all(PADDING not in tokens for _, tokens in each)


def test_translations_that_do_not_exist_are_padding() -> None:
    language = ToyLanguage(vocabulary_size=4, seed=7)
    cache = {"states": ops.repeat(ops.convert_to_tensor([8, 9]), 3)}
    found = beam_search(
        language.step,
        cache,
        length_limits=ops.convert_to_tensor([1, 2]),
        end_id=END,
        config=SearchConfig(3),
    )
    existing = numpy(found.scores) > -1e8
    assert existing.tolist() == [[True, False, False], [True, True, True]]
    assert (numpy(found.tokens)[~existing] == PADDING).all()
    assert (numpy(found.scores)[~existing] == -1e9).all()


def test_search_in_a_graph_finds_the_same() -> None:
    language, config = ToyLanguage(vocabulary_size=7, seed=6), SearchConfig(3)
    limits = [9, 2, 5, 3]

    @tf.function
    def search(starts: tf.Tensor, length_limits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        cache = {"states": ops.repeat(starts, 3)}
        return beam_search(
            language.step, cache, length_limits=length_limits, end_id=END, config=config
        )

    found = hypotheses(search(tf.constant(STARTS), tf.constant(limits)))
    for in_graph, eager in zip(found, language.search(STARTS, limits, config), strict=True):
        assert_same(in_graph, eager)


def test_scores_with_the_decoders_cache_are_those_of_training() -> None:
    model = Transformer(small_config(), VOCABULARY)
    fill_with_waves(model)
    limits = np.array([7, 5, 3], np.int32)
    memory, mask = model.decoder.project_memory(model.encode(SOURCE)), padding_mask(SOURCE)
    found = beam_search(
        lambda tokens, position, past: model.decode_step(
            tokens, past, memory, position=position, memory_mask=mask
        ),
        model.decoder.empty_past(BATCH * WIDTH, limits.max()),
        length_limits=ops.convert_to_tensor(limits),
        end_id=END,
        config=SearchConfig(WIDTH, length_penalty=0.6),
    )
    for rank in range(WIDTH):
        tokens = numpy(found.tokens)[:, rank]
        log_probs = numpy(ops.log_softmax(model(SOURCE, tokens)))
        chosen = np.take_along_axis(log_probs, tokens[:, :, None], axis=2)[:, :, 0]
        lengths = (tokens != PADDING).sum(axis=1)
        totals = np.where(tokens != PADDING, chosen, 0.0).sum(axis=1)
        np.testing.assert_allclose(
            numpy(found.scores)[:, rank], totals / ((5 + lengths) / 6) ** 0.6, rtol=1e-5
        )
