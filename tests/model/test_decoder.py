import keras
import numpy as np
import pytest
from keras import ops

from model.decoder import Decoder, KeysValues
from model.masks import causal_mask, padding_mask
from model.search.state import Ancestry
from tests.helpers import numpy_reference
from tests.helpers.small_models import (
    BATCH,
    SOURCE,
    TARGET_LENGTH,
    WIDTH,
    fill_with_waves,
    numpy,
    small_config,
    wave,
)

MEMORY = wave(*SOURCE.shape, 8, phase=2)
HYPOTHESES = wave(BATCH, WIDTH, TARGET_LENGTH, 8, phase=1)

# The cache entry that each hypothesis writes at each position, [B, W, T].
OWN = np.tile(np.arange(WIDTH)[:, None] + WIDTH * np.arange(TARGET_LENGTH), (BATCH, 1, 1))


def make_decoder(norm: str, dropout: float = 0.0) -> Decoder:
    decoder = Decoder(small_config(norm=norm, dropout=dropout), name="decoder")
    decoder.build()
    fill_with_waves(decoder)
    return decoder


def run(
    decoder: Decoder, x: np.ndarray, memory: np.ndarray = MEMORY, training: bool = False
) -> np.ndarray:
    return numpy(
        decoder(
            x,
            memory,
            self_mask=causal_mask(TARGET_LENGTH),
            memory_mask=padding_mask(SOURCE),
            training=training,
        )
    )


def run_step(
    decoder: Decoder,
    past: list[KeysValues],
    position: int,
    entries: np.ndarray = OWN,
) -> tuple[np.ndarray, list[KeysValues]]:
    """Each hypothesis continues itself by default; `entries` are int [B, W, T]."""
    ancestors = entries[:, :, : position + 1, None] == np.arange(WIDTH * TARGET_LENGTH)
    ancestry = Ancestry(ancestors.any(axis=2), np.int32(position * WIDTH))
    stepped, past, _ = decoder.step(
        ops.convert_to_tensor(HYPOTHESES[:, :, position]),
        past,
        decoder.project_memory(MEMORY),
        ancestry=Ancestry(*map(ops.convert_to_tensor, ancestry)),
        memory_mask=padding_mask(SOURCE),
    )
    return numpy(stepped), past


def make_room(decoder: Decoder) -> list[KeysValues]:
    """An empty cache with room for all positions."""
    return keras.tree.map_structure(
        lambda x: ops.pad(x, ((0, 0), (0, 0), (0, TARGET_LENGTH * WIDTH), (0, 0))),
        decoder.empty_past(BATCH),
    )


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_layers_compose_as_in_figure_1(norm: str) -> None:
    decoder = make_decoder(norm)
    x = HYPOTHESES[:, 0]
    decoded = run(decoder, x)
    for row, length in enumerate((SOURCE != 0).sum(axis=1)):
        memory = MEMORY[row, :length].astype(np.float64)
        expected = numpy_reference.decode(decoder, norm, x[row].astype(np.float64), memory)
        np.testing.assert_allclose(decoded[row], expected, atol=1e-5)


def test_padding_of_the_memory_has_no_influence_at_all() -> None:
    decoder = make_decoder("post")
    changed = np.where((SOURCE == 0)[:, :, None], 1e3, MEMORY)
    assert (run(decoder, HYPOTHESES[:, 0], changed) == run(decoder, HYPOTHESES[:, 0])).all()


def test_only_pre_norm_ends_in_a_last_normalization() -> None:
    assert make_decoder("post").last_norm is None
    paths = [variable.path for variable in make_decoder("pre").variables]
    assert "decoder/last_norm/gamma" in paths


def test_every_sublayer_is_dropped_out_only_in_training() -> None:
    decoder = make_decoder("post", dropout=0.4)
    x = HYPOTHESES[:, 0]
    assert len(decoder.non_trainable_variables) == 2 * 3  # one seed per layer and sublayer
    assert (run(decoder, x) == run(make_decoder("post"), x)).all()
    assert (run(decoder, x, training=True) != run(decoder, x, training=True)).any()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_step_by_step_with_the_cache_equals_all_positions_at_once(norm: str) -> None:
    decoder = make_decoder(norm)
    past = make_room(decoder)
    steps = []
    for position in range(TARGET_LENGTH):
        x, past = run_step(decoder, past, position)
        assert x.shape == (BATCH, WIDTH, 8)
        steps.append(x)
    for hypothesis in range(WIDTH):
        expected = run(decoder, HYPOTHESES[:, hypothesis])
        stepped = np.stack([step[:, hypothesis] for step in steps], axis=1)
        np.testing.assert_allclose(stepped, expected, atol=1e-5)


def test_a_hypothesis_attends_to_its_ancestors() -> None:
    decoder, random = make_decoder("post"), np.random.default_rng(1)
    past, entries = make_room(decoder), OWN
    for position in range(TARGET_LENGTH):
        prefixes = np.take_along_axis(HYPOTHESES, entries[:, :, :, None] % WIDTH, axis=1)
        stepped, past = run_step(decoder, past, position, entries)
        for hypothesis in range(WIDTH):
            expected = run(decoder, prefixes[:, hypothesis])[:, position]
            np.testing.assert_allclose(stepped[:, hypothesis], expected, atol=1e-5)
        parents = random.integers(0, WIDTH, (BATCH, WIDTH, 1))
        entries = np.take_along_axis(entries, parents, axis=1)
        entries = np.where(np.arange(TARGET_LENGTH) <= position, entries, OWN)


def test_a_step_does_not_attend_to_later_positions_in_the_cache() -> None:
    decoder = make_decoder("post")
    empty = make_room(decoder)
    assert tuple(empty[0].key.shape) == (BATCH, 2, TARGET_LENGTH * WIDTH, 9)
    assert tuple(empty[0].value.shape) == (BATCH, 2, TARGET_LENGTH * WIDTH, 10)
    later = 1e3 * (np.arange(TARGET_LENGTH * WIDTH) >= WIDTH)[:, None]
    filled = [KeysValues(key + later, value - later) for key, value in empty]
    assert (run_step(decoder, filled, 0)[0] == run_step(decoder, empty, 0)[0]).all()
