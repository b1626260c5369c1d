import numpy as np
import pytest
from keras import ops

from model.config import SearchConfig
from model.search.candidates import top_k_tokens
from tests.helpers.small_models import numpy

END, PADDING = 1, 0
BEAM = SearchConfig()


def choose(
    logits: np.ndarray,
    count: int,
    config: SearchConfig = BEAM,
    forced: int = PADDING,
    history: tuple[int, ...] = (5,),
    room: int = 3,
) -> tuple[np.ndarray, np.ndarray]:
    batch, width = logits.shape[:2]
    before = ops.convert_to_tensor([*history, *[PADDING] * room], dtype="int32")
    top = top_k_tokens(
        ops.convert_to_tensor(logits),
        ops.tile(before[None, None], (batch, width, 1)),
        ops.convert_to_tensor(len(history)),
        count=count,
        forced=ops.full((batch,), forced, dtype="int32"),
        config=config,
    )
    return numpy(top.log_probs), numpy(top.tokens)


@pytest.mark.parametrize("vocabulary_size", [4, 9, 100, 101, 400, 1000])
@pytest.mark.parametrize("count", [1, 4, 8])
def test_the_most_probable_tokens_come_first_whatever_the_vocabulary(
    vocabulary_size: int, count: int
) -> None:
    logits = np.random.default_rng(1).normal(0, 3, (3, 2, vocabulary_size)).astype(np.float32)
    logits[0, 0, :5] += 9.0  # the best may be neighbours, padding and end among them
    logits[0, 1, -4:] += 9.0
    log_probs, tokens = choose(logits, count)
    expected = logits.astype(np.float64)
    expected -= np.log(np.exp(expected).sum(axis=2, keepdims=True))
    expected[:, :, PADDING] = -1e9
    order = np.argsort(-expected, axis=2)[:, :, :count]
    for sentence in range(3):
        for hypothesis in range(2):
            real = tokens[sentence, hypothesis] != PADDING
            best = tokens[sentence, hypothesis][real][:count].tolist()
            allowed = [token for token in order[sentence, hypothesis] if token != PADDING]
            assert best == allowed
            np.testing.assert_allclose(
                log_probs[sentence, hypothesis][real][:count],
                expected[sentence, hypothesis, allowed],
                rtol=1e-5,
            )


def test_a_forced_token_is_the_only_one_and_costs_what_the_model_says() -> None:
    logits = np.random.default_rng(2).normal(0, 3, (2, 3, 200)).astype(np.float32)
    log_probs, tokens = choose(logits, 4, forced=7)
    assert (tokens[:, :, 0] == 7).all()
    expected = logits[:, :, 7] - np.log(np.exp(logits.astype(np.float64)).sum(axis=2))
    np.testing.assert_allclose(log_probs[:, :, 0], expected, rtol=1e-5)
    assert (log_probs[:, :, 1:] == -1e9).all()


def test_a_translation_below_the_minimum_length_may_not_end() -> None:
    logits = np.zeros((1, 1, 50), np.float32)
    logits[0, 0, END] = 5.0
    for min_length, may_end in ((2, True), (3, False)):
        log_probs, tokens = choose(logits, 3, SearchConfig(min_length=min_length))
        (ending,) = log_probs[tokens == END]
        assert (ending > -1e8) == may_end


@pytest.mark.parametrize("ngram", [1, 2, 3, 4])
def test_histories_shorter_than_an_ngram_repeat_none(ngram: int) -> None:
    logits = np.linspace(0, 1, 50, dtype=np.float32)[None, None]
    config = SearchConfig(no_repeat_ngram=ngram)
    received = choose(logits, 3, config, history=(), room=1)
    expected = choose(logits, 3, history=(), room=1)
    for values, expected_values in zip(received, expected, strict=True):
        np.testing.assert_array_equal(values[0, 0, :3], expected_values[0, 0, :3])


@pytest.mark.parametrize(("ngram", "best"), [(0, [2, 3, 4]), (2, [5, 6, 7])])
def test_enough_tokens_are_left_when_rules_strike_out_the_best(ngram: int, best: list[int]) -> None:
    logits = np.linspace(1, 0, 200, dtype=np.float32)[None, None]  # padding and end come first
    config = SearchConfig(min_length=9, no_repeat_ngram=ngram)
    log_probs, tokens = choose(logits, 3, config, history=(7, 2, 7, 3, 7, 4, 7))
    assert tokens[log_probs > -1e8][:3].tolist() == best
