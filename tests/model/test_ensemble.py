import numpy as np
from keras import ops

from model.config import SearchConfig
from model.transformer import Transformer
from tests.model.small import SOURCE, VOCABULARY, fill_with_waves, numpy, small_config

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
