import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from model.attention_maps import attention_maps
from model.config import SearchConfig
from model.search.penalties import length_penalty
from model.search.search import Translations
from model.transformer import Transformer
from tests.helpers.small_models import SOURCE, VOCABULARY, fill_with_waves, numpy, small_config
from tests.helpers.toy_language import (
    END,
    PADDING,
    SOURCE_LENGTH,
    Hypothesis,
    ToyLanguage,
    grow_plainly,
    hypotheses,
    search_everything,
    search_plainly,
)

STARTS, LIMITS = [5, 900, 77, 310], [4, 2, 3, 1]
ALPHAS = [0.0, 0.6, 2.0]
RULES = {
    "gnmt": SearchConfig(length_penalty=0.6),
    "no penalty": SearchConfig(length_penalty=0.0),
    "strong": SearchConfig(length_penalty=2.0),
    "power": SearchConfig(length_penalty=0.9, length_penalty_form="power"),
    "coverage": SearchConfig(coverage_penalty=0.8),
    "minimum": SearchConfig(min_length=3),
    "unigrams": SearchConfig(no_repeat_ngram=1),
    "bigrams": SearchConfig(no_repeat_ngram=2),
    "all": SearchConfig(
        length_penalty_form="power", coverage_penalty=0.3, min_length=2, no_repeat_ngram=2
    ),
}


def assert_same(received: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [tokens for _, tokens in received] == [tokens for _, tokens in expected]
    scores = [score for score, _ in expected]
    np.testing.assert_allclose([score for score, _ in received], scores, rtol=1e-5)


@pytest.mark.parametrize(("length", "alpha", "expected"), [(1, 0.6, 1.0), (7, 1.0, 2.0)])
def test_penalty_is_the_papers(length: int, alpha: float, expected: float) -> None:
    config = SearchConfig(length_penalty=alpha)
    assert float(length_penalty(length, config)) == pytest.approx(expected)
    assert float(length_penalty(13, SearchConfig())) == pytest.approx(3**0.6)
    assert float(length_penalty(length, SearchConfig(length_penalty=0.0))) == 1.0


def full_source(sentences: int) -> np.ndarray:
    return np.full((sentences, SOURCE_LENGTH), 7)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("vocabulary_size", [4, 5])
def test_beam_as_wide_as_the_language_finds_its_best(
    vocabulary_size: int, rules: SearchConfig
) -> None:
    width = (vocabulary_size - 2) ** 3  # all words at the three places before the last end
    config = dataclasses.replace(rules, beam_size=width, n_best=width)
    language = ToyLanguage(vocabulary_size, seed=vocabulary_size)
    translations = language.search(STARTS, LIMITS, config, source=full_source(4))
    for best, start, limit in zip(translations, STARTS, LIMITS, strict=True):
        assert_same(best, search_everything(language, start, limit, config)[:width])


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_beam_as_wide_as_the_language_finds_the_best_after_a_prefix(rules: SearchConfig) -> None:
    language, config = ToyLanguage(5, seed=9), dataclasses.replace(rules, beam_size=9, n_best=9)
    prefixes = [(3, 4), (), (2,), (4, 4)]
    prefix = np.array([[3, 4, 0], [0, 0, 0], [2, 0, 0], [4, 4, 0]])
    translations = language.search(
        STARTS,
        [4, 3, 3, 4],
        config,
        prefix=ops.convert_to_tensor(prefix),
        source=full_source(4),
    )
    for best, start, limit, prefix_tokens in zip(
        translations, STARTS, [4, 3, 3, 4], prefixes, strict=True
    ):
        everything = search_everything(language, start, limit, config, prefix_tokens)
        assert_same(best, everything[:9])
        assert all(tokens[: len(prefix_tokens)] == prefix_tokens for _, tokens in best)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize(("width", "n_best"), [(2, 2), (3, 1)])
def test_stopping_loses_nothing(width: int, n_best: int, rules: SearchConfig) -> None:
    starts, limits = list(range(0, 400, 10)), [3 + start % 7 for start in range(40)]
    language = ToyLanguage(vocabulary_size=7, seed=1)
    config = dataclasses.replace(rules, beam_size=width, n_best=n_best)
    translations = language.search(starts, limits, config, source=full_source(40))
    for best, start, limit in zip(translations, starts, limits, strict=True):
        assert_same(best, search_plainly(language, start, limit, config))


@pytest.mark.parametrize("width", [2, 3])
def test_a_longer_hypothesis_may_win_late(width: int) -> None:
    language, starts = ToyLanguage(vocabulary_size=5, seed=1), list(range(0, 400, 10))
    config = SearchConfig(width, length_penalty=2.0)
    translations = language.search(starts, [12] * 40, config)
    lengths = []
    for best, start in zip(translations, starts, strict=True):
        assert_same(best, search_plainly(language, start, 12, config))
        lengths.append(len(best[0][1]))
    assert max(lengths) == 12 > min(lengths)


def test_the_coverage_penalty_does_not_count_padding() -> None:
    language = ToyLanguage(vocabulary_size=5, seed=8)
    config = SearchConfig(beam_size=2, coverage_penalty=0.5)
    language.attention[:, 2:] = 0.0
    padded = full_source(4)
    padded[:, 2:] = PADDING
    without, with_padding = (
        language.search(STARTS, LIMITS, config, source=source)
        for source in (full_source(4), padded)
    )
    for (uncovered,), (covered,) in zip(without, with_padding, strict=True):
        assert uncovered[1] == covered[1]
        assert covered[0] - uncovered[0] == pytest.approx(2 * 0.5 * np.log(1e6), rel=1e-4)


def test_search_stops_when_nothing_can_win() -> None:
    language = ToyLanguage(vocabulary_size=6, seed=2)
    language.logits[:, END] += 9.0
    language.search(STARTS, [500, 400, 300, 200], SearchConfig(2, length_penalty=0.0))
    assert language.steps <= 4


def test_a_sentence_of_few_translations_does_not_hold_up_others() -> None:
    language = ToyLanguage(vocabulary_size=6, seed=2)
    language.logits[:, END] += 9.0
    translations = language.search(STARTS[:2], [2, 40], SearchConfig(8, 8))
    assert [len(best) for best in translations] == [5, 8]
    assert language.steps < 30


@pytest.mark.parametrize("config", [SearchConfig(1), SearchConfig(3), SearchConfig(3, 2)])
def test_search_stops_as_soon_as_no_live_hypothesis_can_win(config: SearchConfig) -> None:
    limit, needed = 12, set()
    language = ToyLanguage(vocabulary_size=6, seed=5)
    search = language.trace(config)
    for start in range(20):
        language.steps = 0
        search([start], [limit])
        steps = 0
        for live, kept in grow_plainly(language, start, limit, config):
            steps += 1
            reachable = live[0][0] / ((5 + limit) / 6) ** 0.6 if live else -np.inf
            if len(kept) == config.n_best and reachable <= kept[-1][0]:
                break
        assert language.steps == steps
        needed.add(steps)
    assert len(needed) > 3


def test_finished_sentences_take_no_further_steps() -> None:
    language = ToyLanguage(vocabulary_size=6, seed=2)
    limits = [1] * 15 + [30]
    language.logits[:, END] -= 30.0
    language.search(list(range(16)), limits, SearchConfig(1))
    assert language.steps == 30
    assert language.sentences == 16 + 29


def test_the_cache_has_room_for_one_chunk_at_most() -> None:
    language = ToyLanguage(vocabulary_size=6, seed=2)
    language.logits[:, END] -= 30.0
    language.trace(SearchConfig(2))([5, 900], [100, 40])
    assert len(language.cache_sizes) == 100
    assert all(0 < room <= 2 * 32 for _, room in language.cache_sizes)


def test_compaction_drops_cache_entries_without_descendants() -> None:
    """Hypotheses share all but their last few tokens."""
    language = ToyLanguage(vocabulary_size=6, seed=2)
    language.logits[:, END] -= 30.0
    language.trace(SearchConfig(4))([5, 900], [200, 200])
    assert max(entries for entries, _ in language.cache_sizes) < 200 + 4 * 40


def test_compaction_keeps_all_entries_of_samples() -> None:
    language = ToyLanguage(vocabulary_size=6, seed=2)
    language.logits[:, END] -= 30.0
    language.trace(SearchConfig(2, 2, temperature=1.0))([5], [100])
    assert [entries for entries, _ in language.cache_sizes] == list(range(0, 200, 2))


def test_beam_of_1_takes_the_best_token_until_the_end() -> None:
    language = ToyLanguage(vocabulary_size=5, seed=3)
    starts = list(range(30))
    translations = language.search(starts, [6] * 30, SearchConfig(1))
    lengths = set()
    for (best,), start in zip(translations, starts, strict=True):
        assert_same([best], search_plainly(language, start, 6, SearchConfig(1)))
        lengths.add(len(best[1]))
    assert len(lengths) > 3


@pytest.mark.parametrize("config", [SearchConfig(1), SearchConfig(3), SearchConfig(3, 3)])
def test_a_translation_does_not_depend_on_the_batch(config: SearchConfig) -> None:
    language = ToyLanguage(vocabulary_size=7, seed=4)
    starts, limits = [5, 900, 77, 310, 41, 8, 630], [9, 2, 5, 3, 14, 1, 8]
    search = language.trace(config)
    for start, limit, beside in zip(starts, limits, search(starts, limits), strict=True):
        (alone,) = search([start], [limit])
        assert_same(beside, alone)


def test_no_sentences_give_no_translations() -> None:
    translations = ToyLanguage(vocabulary_size=7, seed=4).find(
        np.zeros([0], np.int32), np.zeros([0], np.int32), SearchConfig(3, 2)
    )
    assert translations.tokens.shape[:2] == (0, 2)


def test_translations_are_sorted_within_their_limit_and_never_hold_padding() -> None:
    language = ToyLanguage(vocabulary_size=7, seed=5)
    language.logits[:, PADDING] += 5.0  # the model's favourite
    limits = [9, 4, 6, 5]
    translations = language.search(STARTS, limits, SearchConfig(3, 3, length_penalty=4.0))
    for best, limit in zip(translations, limits, strict=True):
        scores = [score for score, _ in best]
        assert scores == sorted(scores, reverse=True)
        assert max(len(tokens) for _, tokens in best) == limit
        assert all(PADDING not in tokens for _, tokens in best)


def test_translations_that_do_not_exist_are_padding() -> None:
    language = ToyLanguage(vocabulary_size=4, seed=7)
    translations = language.find([8, 9], [1, 2], SearchConfig(3, 3))
    existing = numpy(translations.scores) > -1e8
    assert existing.tolist() == [[True, False, False], [True, True, True]]
    assert (numpy(translations.tokens)[~existing] == PADDING).all()
    assert (numpy(translations.scores)[~existing] == -1e9).all()


@pytest.mark.parametrize("batch", [None, 4])
def test_search_in_a_graph_finds_the_same(batch: int | None) -> None:
    language, config = ToyLanguage(vocabulary_size=7, seed=6), SearchConfig(3, 2)
    limits = [9, 2, 5, 3]
    signature = tf.TensorSpec([batch], tf.int32)
    in_graph = tf.function(
        lambda starts, limits: language.find(starts, limits, config),
        input_signature=[signature, signature],
        autograph=False,
    )
    translations = hypotheses(in_graph(tf.constant(STARTS), tf.constant(limits)))
    for best, eager in zip(translations, language.search(STARTS, limits, config), strict=True):
        assert_same(best, eager)


@functools.cache
def make_model() -> Transformer:
    """The model that all tests share; searches leave it as it is."""
    model = Transformer(small_config(), VOCABULARY)
    fill_with_waves(model)
    return model


SEARCHES = {
    "greedy": SearchConfig(1, extra_length=3),
    "beam": SearchConfig(5, 5, extra_length=3),
    "long": SearchConfig(2, min_length=34, extra_length=32),  # two chunks
    "sampling": SearchConfig(5, 5, extra_length=3, temperature=1.5),
}


@functools.cache
def search_eagerly(config: SearchConfig) -> Translations:
    return make_model().search(ops.convert_to_tensor(SOURCE), config)


@pytest.mark.parametrize("config", SEARCHES.values(), ids=SEARCHES)
def test_scores_with_the_decoders_cache_are_those_of_training(config: SearchConfig) -> None:
    model, translations = make_model(), search_eagerly(config)
    for rank in range(config.n_best):
        tokens = numpy(translations.tokens)[:, rank]
        totals = numpy(model.token_log_probs(SOURCE, tokens)).sum(axis=1)
        lengths = (tokens != PADDING).sum(axis=1)
        np.testing.assert_allclose(
            numpy(translations.scores)[:, rank], totals / ((5 + lengths) / 6) ** 0.6, rtol=1e-5
        )


def test_the_cache_has_the_layers_of_the_decoder() -> None:
    model = Transformer(small_config(encoder_layers=3, decoder_layers=1), VOCABULARY)
    fill_with_waves(model)
    translations = model.search(ops.convert_to_tensor(SOURCE), SEARCHES["beam"])
    tokens = numpy(translations.tokens)[:, 0]
    totals = numpy(model.token_log_probs(SOURCE, tokens)).sum(axis=1)
    lengths = (tokens != PADDING).sum(axis=1)
    expected = totals / ((5 + lengths) / 6) ** 0.6
    np.testing.assert_allclose(numpy(translations.scores)[:, 0], expected, rtol=1e-5)
    assert len(model.start_search(ops.convert_to_tensor(SOURCE)).past) == 1


@pytest.mark.parametrize("config", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("batch", [None, len(SOURCE)])
def test_a_model_finds_the_same_in_a_graph(config: SearchConfig, batch: int | None) -> None:
    model = make_model()
    in_graph = tf.function(
        lambda source: model.search(source, config),
        input_signature=[tf.TensorSpec([batch, None], tf.int32)],
        autograph=False,
    )
    translations, expected = in_graph(SOURCE), search_eagerly(config)
    for best, eager in zip(hypotheses(translations), hypotheses(expected), strict=True):
        assert_same(best, eager)


def test_the_cached_beam_is_the_beam_without_a_cache() -> None:
    """Beam search in plain Python that runs the whole decoder on every prefix."""
    model, width, limit = make_model(), 3, 7
    source = SOURCE[:1]
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished = []
    for position in range(limit):
        grown = []
        for total, tokens in live:
            target = np.array([[*tokens, 2]])  # predicting position `len(tokens)`
            log_probs = numpy(ops.log_softmax(model(source, target)))[0, position]
            allowed = [END] if position + 1 == limit else range(1, VOCABULARY)
            grown += [(total + float(log_probs[token]), [*tokens, token]) for token in allowed]
        grown = sorted(grown, reverse=True)[: 2 * width]
        finished += [
            (total / ((5 + len(tokens)) / 6) ** 0.6, tuple(tokens))
            for total, tokens in grown
            if tokens[-1] == END
        ]
        live = [hypothesis for hypothesis in grown if hypothesis[1][-1] != END][:width]
    config = SearchConfig(width, width, extra_length=limit - SOURCE.shape[1])
    (translations,) = hypotheses(model.search(ops.convert_to_tensor(source), config))
    assert_same(translations, sorted(finished, reverse=True)[:width])


def test_translations_begin_with_their_prefix_which_adds_to_the_limit() -> None:
    model, prefix = make_model(), np.array([[7, 3], [5, 0], [0, 0]])
    config = SearchConfig(2, 2, min_length=40, extra_length=2)
    tokens = numpy(model.search(ops.convert_to_tensor(SOURCE), config, prefix=prefix).tokens)
    assert (tokens[0, :, :2] == [7, 3]).all()
    assert (tokens[1, :, 0] == 5).all()
    assert (tokens != PADDING).sum(axis=2).tolist() == [[10, 10], [7, 7], [4, 4]]


def test_coverage_sums_the_last_layer_s_attention() -> None:
    model, config = make_model(), SearchConfig(3, 3, extra_length=2, coverage_penalty=0.7)
    translations = model.search(ops.convert_to_tensor(SOURCE), config)
    plain = SearchConfig(3, 3, extra_length=2)
    maps = attention_maps(model, SOURCE, numpy(translations.tokens)[:, 0])
    weights = numpy(maps.memory)[-1]  # [B, H, T, S]
    real = (numpy(translations.tokens)[:, 0] != PADDING)[:, None, :, None]
    coverage = np.where(real, weights, 0.0).mean(axis=1).sum(axis=1)  # [B, S]
    covered = np.where(SOURCE == PADDING, 1.0, np.minimum(coverage, 1.0))
    penalty = np.log(covered).sum(axis=1)
    tokens = numpy(translations.tokens)[:, 0]
    lengths = (tokens != PADDING).sum(axis=1)
    totals = numpy(model.token_log_probs(SOURCE, tokens)).sum(axis=1)
    expected = totals / ((5 + lengths) / 6) ** plain.length_penalty + 0.7 * penalty
    np.testing.assert_allclose(numpy(translations.scores)[:, 0], expected, rtol=1e-4)
