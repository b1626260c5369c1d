import numpy as np
from keras import ops

from model.config import SearchConfig
from model.search.ensemble import average_steps, join_caches
from model.search.search import search
from model.search.state import Cache
from model.transformer import Transformer
from tests.helpers.small_models import SOURCE, VOCABULARY, fill_with_waves, numpy, small_config
from tests.helpers.toy_language import (
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


def test_an_ensemble_of_a_model_with_itself_gives_its_translations() -> None:
    model, source = make_model(2.0), ops.convert_to_tensor(SOURCE)
    alone = model.search(source, CONFIG)
    both = model.search(source, CONFIG, ensemble=[model])
    np.testing.assert_array_equal(numpy(both.tokens), numpy(alone.tokens))
    np.testing.assert_allclose(numpy(both.scores), numpy(alone.scores), rtol=1e-5)


def test_a_beam_as_wide_as_the_language_finds_the_best_of_the_average() -> None:
    first, second, both = (ToyLanguage(5, seed=seed) for seed in (1, 2, 3))
    shares = [np.exp(language.logits) for language in (first, second)]
    average = sum(share / share.sum(axis=1, keepdims=True) for share in shares) / 2
    both.logits[:] = np.log(average)
    both.attention[:] = (first.attention + second.attention) / 2
    starts, limits = [5, 900, 310], [4, 3, 1]
    config = SearchConfig(27, 27, min_length=2, coverage_penalty=0.3)
    cache = Cache(ops.zeros((3, 1, 0, 2), "int32"), fixed=ops.convert_to_tensor(starts))
    translations = search(
        average_steps([first.step, second.step]),
        join_caches([cache, cache]),
        length_limits=ops.convert_to_tensor(limits),
        config=config,
        source=ops.ones((3, SOURCE_LENGTH), "int32"),
    )
    for best, start, limit in zip(hypotheses(translations), starts, limits, strict=True):
        everything = search_everything(both, start, limit, config)[:27]
        assert [tokens for _, tokens in best] == [tokens for _, tokens in everything]
        np.testing.assert_allclose(
            [score for score, _ in best], [score for score, _ in everything], rtol=1e-5
        )


def test_the_probabilities_of_different_models_are_averaged() -> None:
    models = [make_model(2.0), make_model(1.0, num_layers=1, feed_forward_dim=5)]
    config = SearchConfig(3, 3, extra_length=3)
    translations = models[0].search(ops.convert_to_tensor(SOURCE), config, ensemble=models[1:])
    for rank in range(3):
        tokens = numpy(translations.tokens)[:, rank]
        probabilities = [np.exp(numpy(model.token_log_probs(SOURCE, tokens))) for model in models]
        totals = np.log(sum(probabilities) / 2).sum(axis=1)
        lengths = (tokens != 0).sum(axis=1)
        expected = totals / ((5 + lengths) / 6) ** 0.6
        np.testing.assert_allclose(numpy(translations.scores)[:, rank], expected, rtol=1e-5)
