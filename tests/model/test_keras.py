"""A Transformer and its layers behave as Keras's own: fit, evaluate, predict, save and load."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from model.attention import MultiHeadAttention
from model.decoder import Decoder, DecoderLayer
from model.embedding import SharedEmbedding, TargetSpace
from model.encoder import Encoder, EncoderLayer
from model.positions import LearnedPositions, SinusoidalPositions, make_positions
from model.sublayers import FeedForward
from model.transformer import Transformer
from tests.helpers.small_models import (
    SOURCE,
    TARGET,
    TENSOR2TENSOR,
    VOCABULARY,
    fill_with_waves,
    numpy,
    small_config,
    wave,
)

SOURCE_VOCABULARY = VOCABULARY + 3


def make_model(**changes: Any) -> Transformer:
    config = small_config(num_layers=1, **changes)
    return Transformer(config, VOCABULARY, source_vocabulary_size=SOURCE_VOCABULARY)


def compile_model(model: keras.Model) -> None:
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile(optimizer=keras.optimizers.Adam(0.03), loss=loss, jit_compile=False)


def batches() -> Any:
    import tensorflow as tf

    sides = {"source": SOURCE, "target": TARGET}
    return tf.data.Dataset.from_tensor_slices((sides, TARGET)).batch(2).repeat(4)


def test_both_sides_may_come_as_one_argument() -> None:
    model = make_model()
    expected = numpy(model(SOURCE, TARGET))
    for sides in ({"source": SOURCE, "target": TARGET}, (SOURCE, TARGET), [SOURCE, TARGET]):
        np.testing.assert_array_equal(numpy(model(sides)), expected)


def test_a_source_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="received a source without a target: expected both"):
        make_model()(SOURCE)


def test_keras_trains_saves_loads_and_goes_on(tmp_path: Path) -> None:
    keras.utils.set_random_seed(5)
    model = make_model(dropout=0.1)
    compile_model(model)
    saving = keras.callbacks.ModelCheckpoint(str(tmp_path / "best.keras"), save_best_only=True)
    history = model.fit(
        batches(), validation_data=batches(), epochs=2, callbacks=[saving], verbose=0
    ).history
    assert history["val_loss"][1] < history["val_loss"][0]
    model.save(tmp_path / "model.keras")

    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.config == model.config
    assert loaded.evaluate(batches(), verbose=0) == model.evaluate(batches(), verbose=0)
    best = keras.saving.load_model(tmp_path / "best.keras")
    for ours, saved in zip(model.get_weights(), best.get_weights(), strict=True):
        np.testing.assert_array_equal(saved, ours)
    logits = loaded.predict(batches().take(2), verbose=0)
    np.testing.assert_allclose(logits, numpy(model(SOURCE, TARGET)), rtol=1e-5, atol=1e-6)
    loaded.fit(batches().take(1), verbose=0)
    assert int(loaded.optimizer.iterations) == 2 * 8 + 1


@pytest.mark.parametrize("changes", [{}, TENSOR2TENSOR, {"positions": "learned"}])
def test_a_configuration_makes_the_same_model_again(changes: dict[str, Any]) -> None:
    model = make_model(**changes)
    again = Transformer.from_config(model.get_config())
    assert again.config == model.config
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(numpy(again(SOURCE, TARGET)), numpy(model(SOURCE, TARGET)))


CONFIG = small_config()
X, MEMORY = wave(3, 4, CONFIG.model_dim), wave(3, 6, CONFIG.model_dim, phase=1)
SELF, ACROSS = np.tri(4, dtype=bool), np.ones((4, 6), dtype=bool)
LAYERS: dict[str, tuple[keras.layers.Layer, tuple[Any, ...]]] = {
    "attention": (MultiHeadAttention(CONFIG), (X, MEMORY, ACROSS)),
    "encoder layer": (EncoderLayer(CONFIG), (X, SELF)),
    "encoder": (Encoder(CONFIG), (X, SELF)),
    "decoder layer": (DecoderLayer(CONFIG), (X, MEMORY, SELF, ACROSS)),
    "decoder": (Decoder(CONFIG), (X, MEMORY, SELF, ACROSS)),
    "feed-forward": (FeedForward(CONFIG), (X,)),
    "embedding": (SharedEmbedding(CONFIG, SOURCE_VOCABULARY), (SOURCE,)),
    "target space": (TargetSpace(CONFIG), (X,)),
    "learned positions": (LearnedPositions(CONFIG), (np.arange(4),)),
    "sinusoids": (SinusoidalPositions(CONFIG), (np.arange(4),)),
    "halves": (make_positions(small_config(positions="sinusoidal_halves")), (np.arange(4),)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_alone_builds_itself_and_is_made_again(name: str) -> None:
    layer, inputs = LAYERS[name]
    expected = numpy(layer(*inputs))
    fill_with_waves(layer)
    changed = numpy(layer(*inputs))
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    again(*inputs)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(numpy(again(*inputs)), changed)
    assert not layer.weights or not np.array_equal(changed, expected)


def test_a_layer_within_a_functional_model_is_saved(tmp_path: Path) -> None:
    x = keras.Input((4, CONFIG.model_dim))
    mask = keras.Input((4, 4), dtype="bool")
    model = keras.Model([x, mask], EncoderLayer(CONFIG)(x, attention_mask=mask[:, None]))
    model.save(tmp_path / "layer.keras")
    loaded = keras.saving.load_model(tmp_path / "layer.keras")
    inputs = [X, np.broadcast_to(SELF, (3, 4, 4))]
    np.testing.assert_array_equal(numpy(loaded(inputs)), numpy(model(inputs)))
