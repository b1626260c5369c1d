import numpy as np
from keras import ops

from model.config import SearchConfig
from model.search.ensemble import average_steps, join_caches
from model.search.search import search
from model.search.state import Cache
from model.transformer import Transformer
from tests.helpers.small_models import SOURCE, VOCABULARY, fill_with_waves, numpy, small_config
from tests.helpers.toy_language import (
    END,
    SOURCE_LENGTH,
    ToyLanguage,
    hypotheses,
    search_everything,
)

CONFIG = SearchConfig(3, 3, extra_length=3, coverage_penalty=0.2)


def make_model(scale: float, **changes: int) -> Transformer:
    model = Transformer(small_config(**changes), VOCABULARY)
    fill_with_waves(model)
    model.embedding.matrix.assign(scale * model.embedding.matrix)
    return model


def test_a_model_beside_itself_finds_what_it_finds_alone() -> None:
    model, source = make_model(2.0), ops.convert_to_tensor(SOURCE)
    alone = model.search(source, CONFIG, end_id=1)
    both = model.search(source, CONFIG, end_id=1, ensemble=[model])
    np.testing.assert_array_equal(numpy(both.tokens), numpy(alone.tokens))
    np.testing.assert_allclose(numpy(both.scores), numpy(alone.scores), rtol=1e-5)


def test_a_beam_as_wide_as_the_language_finds_the_best_of_the_average() -> None:
    one, other, both = (ToyLanguage(5, seed=seed) for seed in (1, 2, 3))
    probabilities = [np.exp(each.logits) for each in (one, other)]
    average = sum(each / each.sum(axis=1, keepdims=True) for each in probabilities) / 2
    both.logits[:] = np.log(average)
    both.attention[:] = (one.attention + other.attention) / 2
    starts, limits = [5, 900, 310], [4, 3, 1]
    config = SearchConfig(27, 27, min_length=2, coverage_penalty=0.3)
    cache = Cache(ops.zeros((3, 1, 0, 2), "int32"), fixed=ops.convert_to_tensor(starts))
    found = search(
        average_steps([one.step, other.step]),
        join_caches([cache, cache]),
        length_limits=ops.convert_to_tensor(limits),
        end_id=END,
        config=config,
        source=ops.ones((3, SOURCE_LENGTH), "int32"),
    )
    for each, start, limit in zip(hypotheses(found), starts, limits, strict=True):
        everything = search_everything(both, start, limit, config)[:27]
        assert [tokens for _, tokens in each] == [tokens for _, tokens in everything]
        np.testing.assert_allclose(
            [score for score, _ in each], [score for score, _ in everything], rtol=1e-5
        )


def test_the_probabilities_of_different_models_are_averaged() -> None:
    models = [make_model(2.0), make_model(1.0, num_layers=1, feed_forward_dim=5)]
    config = SearchConfig(3, 3, extra_length=3)
    found = models[0].search(ops.convert_to_tensor(SOURCE), config, end_id=1, ensemble=models[1:])
    for rank in range(3):
        tokens = numpy(found.tokens)[:, rank]
        each = [np.exp(numpy(model.token_log_probs(SOURCE, tokens))) for model in models]
        totals = np.log((each[0] + each[1]) / 2).sum(axis=1)
        lengths = (tokens != 0).sum(axis=1)
        expected = totals / ((5 + lengths) / 6) ** 0.6
        np.testing.assert_allclose(numpy(found.scores)[:, rank], expected, rtol=1e-5)
