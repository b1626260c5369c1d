import dataclasses
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from model import transformer
from model.config import SearchConfig
from model.search.state import Ancestry, Cache
from model.transformer import Transformer, shift_right
from tests.helpers import numpy_reference
from tests.helpers.small_models import (
    BATCH,
    SOURCE,
    TARGET,
    TARGET_LENGTH,
    TENSOR2TENSOR,
    VOCABULARY,
    WIDTH,
    fill_with_waves,
    numpy,
    small_config,
    wave,
)


def make_transformer(**changes: Any) -> Transformer:
    model = Transformer(small_config(**changes), VOCABULARY)
    fill_with_waves(model)
    return model


def test_weights_exist_as_soon_as_the_model_does_under_distinct_paths() -> None:
    paths = [variable.path for variable in Transformer(small_config(), VOCABULARY).variables]
    # The embedding; in each layer attention's kernels, two kernels and biases, two weights a norm.
    assert len(paths) == 1 + 2 * (4 + 4 + 2 * 2) + 2 * (4 + 4 + 4 + 3 * 2)
    assert len(set(paths)) == len(paths)


def test_each_sentence_is_shifted_right_by_the_start_symbol() -> None:
    assert numpy(shift_right(TARGET)).tolist() == [[0, 6, 2, 9], [0, 3, 8, 0], [0, 0, 0, 0]]
    assert numpy(shift_right(np.array([[6, 1, 3, 4, 1]]))).tolist() == [[0, 6, 0, 3, 4]]


PACKED_PAIRS = [([5, 9, 1], [6, 2, 1]), ([10, 4, 6, 1], [3, 1]), ([1], [8, 9, 7, 1])]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_pairs_packed_into_a_row_give_the_logits_of_single_pairs(norm: str, positions: str) -> None:
    model = make_transformer(norm=norm, positions=positions)
    sources, targets = zip(*PACKED_PAIRS, strict=True)
    packed = numpy(model(np.array([sum(sources, []) + [0, 0]]), np.array([sum(targets, []) + [0]])))
    alone = [numpy(model(np.array([s]), np.array([t])))[0] for s, t in PACKED_PAIRS]
    expected = np.concatenate(alone)
    np.testing.assert_allclose(packed[0, : len(expected)], expected, atol=1e-5)


@pytest.mark.parametrize("side", [0, 1])
def test_attention_does_not_cross_sentences_of_a_row(side: int) -> None:
    model = make_transformer()
    row = [np.array([sum(ids, [])]) for ids in zip(*PACKED_PAIRS, strict=True)]
    changed = [ids.copy() for ids in row]
    start, end = (len(sum([pair[side] for pair in PACKED_PAIRS[:n]], [])) for n in (1, 2))
    changed[side][0, start : end - 1] -= 1
    first, second = (slice(0, 3), slice(3, 5))
    before, after = numpy(model(*row))[0], numpy(model(*changed))[0]
    assert (before[first] == after[first]).all() and (before[5:] == after[5:]).all()
    assert (before[second] != after[second]).any()


def test_a_window_hides_whatever_is_beyond_it() -> None:
    encode = make_transformer(num_layers=1, attention_window=3).encode
    source = np.array([[5, 9, 3, 7, 3, 1]])
    changed = np.array([[4, 9, 3, 7, 3, 1]])
    before, after = numpy(encode(source))[0], numpy(encode(changed))[0]
    assert (before[:2] != after[:2]).any(axis=1).all()
    assert (before[2:] == after[2:]).all()


def test_the_window_of_a_packed_sentence_ends_with_the_sentence() -> None:
    encode = make_transformer(attention_window=3).encode
    sources = [source for source, _ in PACKED_PAIRS]
    packed = numpy(encode(np.array([sum(sources, []) + [0, 0]])))[0]
    expected = np.concatenate([numpy(encode(np.array([source])))[0] for source in sources])
    np.testing.assert_allclose(packed[: len(expected)], expected, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"value_dim": 9},
        {"encoder_layers": 3, "decoder_layers": 1},
        {"attention_window": 3},
        *({name: value} for name, value in TENSOR2TENSOR.items()),
        TENSOR2TENSOR,
    ],
    ids=["paper", "heads of one size", "3 + 1 layers", "window", *TENSOR2TENSOR, "all"],
)
def test_logits_are_those_of_the_equations_without_padding(changes: dict[str, Any]) -> None:
    model = make_transformer(**changes)
    logits = numpy(model(SOURCE, TARGET))
    assert logits.shape == (BATCH, TARGET_LENGTH, VOCABULARY)
    for row in range(BATCH):
        source, target = SOURCE[row][SOURCE[row] != 0], TARGET[row][TARGET[row] != 0]
        expected = numpy_reference.transform(model, source.tolist(), target.tolist())
        np.testing.assert_allclose(logits[row, : len(target)], expected, atol=1e-5)


# Sentence 1's logits of subwords 0 to 6, computed once in float64 by `numpy_reference.transform`
# from the weights of `fill_with_waves`.
GOLDEN = [
    [0.152509, 0.110175, 0.363982, 0.541652, 0.913555, -0.338780, 0.158163],
    [-1.252434, 1.020922, 0.419464, 0.579646, 0.966097, -0.359309, 0.404141],
    [-1.695427, 1.331791, 0.737075, -0.164098, 0.091949, -0.210744, -0.024480],
]


def test_logits_are_golden() -> None:
    logits = numpy(make_transformer()(SOURCE, TARGET))
    np.testing.assert_allclose(logits[1, :3, :7], GOLDEN, atol=1e-5)


def test_a_model_optimized_for_search_gives_the_same_results() -> None:
    sizes = {"model_dim": 512, "feed_forward_dim": 1024, "key_dim": 256, "value_dim": 256}
    trained, optimized = (make_transformer(num_layers=1, **sizes) for _ in range(2))
    optimized.optimize_for_search()
    padded = [
        weight.path.partition("/")[2]
        for weight, before in zip(optimized.variables, trained.variables, strict=True)
        if weight.shape != before.shape
    ]
    assert len(padded) == 3 * 4 + 2 * 4  # attention's kernels, feed-forward kernels and biases
    assert all(path.endswith(("kernel", "bias")) for path in padded)
    logits = numpy(trained(SOURCE, TARGET))
    np.testing.assert_allclose(numpy(optimized(SOURCE, TARGET)), logits, atol=1e-4)
    for beam_size in (1, 2):
        config = SearchConfig(beam_size=beam_size, extra_length=2)
        expected, received = (model.search(SOURCE, config) for model in (trained, optimized))
        assert (numpy(received.tokens) == numpy(expected.tokens)).all()
        np.testing.assert_allclose(numpy(received.scores), numpy(expected.scores), rtol=1e-4)


@pytest.mark.parametrize("changed", range(TARGET_LENGTH))
def test_a_token_changes_no_logits_up_to_its_own_position(changed: int) -> None:
    model = make_transformer()
    whole = np.where(TARGET <= 1, 7, TARGET)  # one unfinished sentence a row
    target = whole.copy()
    target[:, changed] -= 1
    target[target == 1] = 10
    before, after = numpy(model(SOURCE, whole)), numpy(model(SOURCE, target))
    assert (before[:, : changed + 1] == after[:, : changed + 1]).all()
    assert (before[:, changed + 1 :] != after[:, changed + 1 :]).any(axis=-1).all()


def test_vector_of_padding_does_not_reach_the_memory_of_real_tokens() -> None:
    model = make_transformer()
    before = numpy(model.encode(SOURCE))
    rows = numpy(model.embedding.matrix)
    model.embedding.matrix.assign(np.where(np.arange(VOCABULARY)[:, None] == 0, 50.0, rows))
    after = numpy(model.encode(SOURCE))
    assert (before[SOURCE != 0] == after[SOURCE != 0]).all()
    assert (before[SOURCE == 0] != after[SOURCE == 0]).any()


@pytest.mark.parametrize("changes", [{}, TENSOR2TENSOR], ids=["paper", "tensor2tensor"])
def test_the_embedding_of_padding_changes_no_bit(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, config = make_transformer(**changes), SearchConfig(beam_size=2, extra_length=2)
    embed = model._embed
    padded = {ids.shape: ids == 0 for ids in (SOURCE, TARGET)}

    def embed_with_noise(*arguments: Any) -> Any:
        *_, tokens, _ = arguments
        noisy = padded.get(tuple(tokens.shape), np.zeros(tokens.shape, bool))
        return ops.where(noisy[..., None], 1e3, embed(*arguments))

    before, translations = numpy(model(SOURCE, TARGET)), model.search(SOURCE, config)
    monkeypatch.setattr(model, "_embed", embed_with_noise)
    after, translations_after = numpy(model(SOURCE, TARGET)), model.search(SOURCE, config)
    real = TARGET != 0
    assert (before[real] == after[real]).all() and (before[~real] != after[~real]).any()
    for old, new in zip(translations, translations_after, strict=True):
        assert (numpy(old) == numpy(new)).all()


def test_more_padding_does_not_change_the_logits() -> None:
    model = make_transformer()
    more = numpy(model(np.pad(SOURCE, ((0, 0), (0, 3))), np.pad(TARGET, ((0, 0), (0, 2)))))
    before, after = numpy(model(SOURCE, TARGET)), more[:, :TARGET_LENGTH]
    # Other shapes: sums may be taken in another order.
    np.testing.assert_allclose(after[TARGET != 0], before[TARGET != 0], atol=1e-6)


@pytest.mark.parametrize(("token", "row"), [(10, 1), (2, 0)])  # only a source's, only a target's
def test_one_matrix_embeds_both_languages_and_makes_the_logits(token: int, row: int) -> None:
    model = make_transformer()
    (matrix,) = [variable for variable in model.variables if VOCABULARY in variable.shape]
    before = numpy(model(SOURCE, TARGET))
    is_token = np.arange(VOCABULARY) == token
    matrix.assign(np.where(is_token[:, None], wave(8), numpy(matrix)))
    changed = before != numpy(model(SOURCE, TARGET))
    assert changed[:, :, is_token].all()
    assert np.flatnonzero(changed[:, :, ~is_token].any(axis=(1, 2))).tolist() == [row]


def make_room(cache: Cache, entries: int) -> Cache:
    """Lengthens the past, as search does."""
    lengths = ((0, 0), (0, 0), (0, entries), (0, 0))
    return cache._replace(past=keras.tree.map_structure(lambda x: ops.pad(x, lengths), cache.past))


@pytest.mark.parametrize(
    "changes",
    [{}, {"positions": "learned"}, {"attention_window": 3}, TENSOR2TENSOR],
    ids=["paper", "learned", "window", "tensor2tensor"],
)
def test_search_steps_give_the_logits_of_training(changes: dict[str, Any]) -> None:
    model = make_transformer(**changes)
    hypotheses = np.abs(np.round(50 * wave(BATCH, WIDTH, TARGET_LENGTH))).astype(int)
    hypotheses = 2 + hypotheses % (VOCABULARY - 2)  # neither padding nor end: one sentence each
    cache = make_room(model.start_search(SOURCE), TARGET_LENGTH * WIDTH)
    positions, hypotheses_of_entries = np.divmod(np.arange(TARGET_LENGTH * WIDTH), WIDTH)
    own = np.tile(hypotheses_of_entries == np.arange(WIDTH)[:, None], (BATCH, 1, 1))
    inputs = np.pad(hypotheses[:, :, :-1], ((0, 0), (0, 0), (1, 0)))
    steps = []
    for position in range(TARGET_LENGTH):
        ancestry = Ancestry(own & (positions <= position), np.int32(position * WIDTH))
        prediction = model.make_step()(inputs[:, :, position], position, ancestry, cache)
        cache = cache._replace(past=prediction.past)
        steps.append(numpy(prediction.logits))
    for hypothesis in range(WIDTH):
        stepped = np.stack([logits[:, hypothesis] for logits in steps], axis=1)
        expected = numpy(model(SOURCE, hypotheses[:, hypothesis]))
        np.testing.assert_allclose(stepped, expected, atol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_sums_of_embeddings_and_positions_are_dropped_out(norm: str) -> None:
    """The output weights of all sublayers are zero, so no other dropout has an effect."""
    model = make_transformer(norm=norm, dropout=0.4)
    for variable in model.trainable_variables:
        if "output/kernel" in variable.path or "outer" in variable.path:
            variable.assign(0.0 * variable)
    first, second = (numpy(model.encode(SOURCE, training=True)) for _ in range(2))
    assert (first != second).any()
    first, second = (numpy(model(SOURCE, TARGET, training=True)) for _ in range(2))
    assert (first != second).any()
    assert (numpy(model(SOURCE, TARGET)) == numpy(model(SOURCE, TARGET))).all()


@pytest.mark.parametrize(
    ("rates", "sites"),
    [
        ({"dropout": 0.4}, 2 + 2 * 2 + 2 * 3),  # two sums of embeddings; sublayers of 2 + 2 layers
        ({"attention_dropout": 0.4}, 2 * 1 + 2 * 2),
        ({"relu_dropout": 0.4}, 2 * 1 + 2 * 1),
    ],
    ids=lambda value: str(value),
)
def test_every_dropout_draws_in_training_only(rates: dict[str, float], sites: int) -> None:
    """Each dropout layer advances its own random state."""
    model = make_transformer(**rates)
    before = [numpy(seed).tolist() for seed in model.non_trainable_variables]
    model(SOURCE, TARGET)
    model.search(SOURCE, SearchConfig(beam_size=2, extra_length=1))
    assert [numpy(seed).tolist() for seed in model.non_trainable_variables] == before
    model(SOURCE, TARGET, training=True)
    after = [numpy(seed).tolist() for seed in model.non_trainable_variables]
    assert len(before) == sites
    assert all(old != new for old, new in zip(before, after, strict=True))


@pytest.mark.usefixtures("bfloat16")
def test_mixed_precision_is_near_and_gives_float32_logits() -> None:
    mixed = make_transformer()
    logits = mixed(SOURCE, TARGET)
    assert logits.dtype == "float32"
    keras.config.set_dtype_policy("float32")
    np.testing.assert_allclose(numpy(logits), numpy(make_transformer()(SOURCE, TARGET)), atol=0.1)


@pytest.mark.usefixtures("bfloat16")
def test_far_positions_are_added_in_float32() -> None:
    """bfloat16 would round 1,001 to 1,000, and so give both the same vector."""
    model = make_transformer()
    cache = make_room(model.start_search(SOURCE), 1)
    ancestry = Ancestry(np.ones((BATCH, 1, 1), bool), np.int32(0))
    logits = [
        model.make_step()(TARGET[:, :1], position, ancestry, cache).logits
        for position in (1000, 1001)
    ]
    assert (numpy(logits[0]) != numpy(logits[1])).any()


def test_samples_of_a_sentence_do_not_depend_on_the_batch() -> None:
    model, config = make_transformer(), SearchConfig(3, 3, temperature=1.0, extra_length=4)
    padded = np.pad(SOURCE, ((0, 0), (0, 2)))
    together = numpy(model.search(SOURCE, config).tokens)
    reversed_order = numpy(model.search(padded[::-1].copy(), config).tokens)
    longest = together.shape[2]
    np.testing.assert_array_equal(reversed_order[::-1, :, :longest], together)
    same_length = np.array([[3, 4, 5, 1], [5, 4, 3, 1]])
    first, second = numpy(model.search(same_length, config).tokens)
    assert (first != second).any()


def test_the_coverage_penalty_counts_the_source_without_padding() -> None:
    model, config = make_transformer(), SearchConfig(2, coverage_penalty=0.5, extra_length=2)
    padded = np.pad(SOURCE, ((0, 0), (0, 3)))
    uncounted = dataclasses.replace(config, coverage_penalty=0.0)
    scores, scores_padded, scores_uncounted = (
        numpy(model.search(source, search_config).scores)
        for source, search_config in ((SOURCE, config), (padded, config), (SOURCE, uncounted))
    )
    np.testing.assert_allclose(scores_padded, scores, rtol=1e-5)
    assert (scores < scores_uncounted - 0.01).all()


def make_separate(source_vocabulary_size: int) -> Transformer:
    return Transformer(small_config(), VOCABULARY, source_vocabulary_size=source_vocabulary_size)


def test_separate_vocabularies_add_exactly_one_embedding() -> None:
    shared, separate = Transformer(small_config(), VOCABULARY), make_separate(17)
    assert separate.count_params() == shared.count_params() + 17 * small_config().model_dim
    paths = [variable.path for variable in separate.variables]
    assert len({*paths}) == len(paths) == len(shared.variables) + 1


def test_separate_embeddings_of_the_same_values_give_the_logits_of_a_shared_one() -> None:
    shared, separate = make_transformer(), make_separate(VOCABULARY)
    separate.source_embedding.matrix.assign(shared.embedding.matrix)
    values = {_name(variable): variable for variable in shared.variables}
    for variable in separate.variables:
        if variable is not separate.source_embedding.matrix:
            variable.assign(values[_name(variable)])
    np.testing.assert_array_equal(numpy(separate(SOURCE, TARGET)), numpy(shared(SOURCE, TARGET)))


def _name(variable: Any) -> str:
    """Returns a variable's path within its model."""
    return variable.path.partition("/")[2]


def test_each_side_has_its_embedding_and_the_output_uses_the_target_s() -> None:
    model = make_separate(17)
    fill_with_waves(model)
    source = np.where(SOURCE > 1, SOURCE + 6, SOURCE)  # up to 16: ids that the target has not
    logits = numpy(model(source, TARGET))
    assert logits.shape == (BATCH, TARGET_LENGTH, VOCABULARY)
    unused = numpy(model.source_embedding.matrix).copy()
    unused[2:9] += 1  # ids of the target alone
    model.source_embedding.matrix.assign(unused)
    np.testing.assert_array_equal(numpy(model(source, TARGET)), logits)
    model.embedding.matrix.assign(2.0 * model.embedding.matrix)
    assert np.abs(numpy(model(source, TARGET)) - logits).max() > 0.1


def test_scoring_has_a_chunk_of_the_logits_in_memory_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = make_transformer()
    logits = numpy(model(SOURCE, TARGET)).astype(np.float64)
    of_target = np.take_along_axis(logits, TARGET[:, :, None], axis=2)[:, :, 0]
    expected = of_target - np.log(np.exp(logits).sum(axis=-1))
    sizes: list[int] = []
    make_logits = model.embedding.make_logits

    def count(x: Any) -> Any:
        sizes.append(x.shape[0] * VOCABULARY)
        return make_logits()(x)

    monkeypatch.setattr(model.embedding, "make_logits", lambda: count)
    for limit, chunks in ((5 * VOCABULARY, 3), (1, TARGET.size + 1), (10**6, 1)):
        sizes.clear()
        monkeypatch.setattr(transformer, "_LOGITS_PER_CHUNK", limit)
        received = numpy(model.token_log_probs(SOURCE, TARGET))
        np.testing.assert_allclose(received, np.where(TARGET, expected, 0.0), atol=1e-5)
        assert len(sizes) == chunks
        assert max(sizes) <= max(limit, VOCABULARY)
