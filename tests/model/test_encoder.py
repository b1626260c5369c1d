import numpy as np
import pytest

from model.encoder import Encoder
from model.masks import padding_mask
from tests.helpers import numpy_reference
from tests.helpers.small_models import SOURCE, fill_with_waves, numpy, small_config, wave

EMBEDDED = wave(*SOURCE.shape, 8)


def make_encoder(norm: str, dropout: float = 0.0) -> Encoder:
    encoder = Encoder(small_config(norm=norm, dropout=dropout), name="encoder")
    encoder.build()
    fill_with_waves(encoder)
    return encoder


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_layers_compose_as_in_figure_1(norm: str) -> None:
    encoder = make_encoder(norm)
    memory = numpy(encoder(EMBEDDED, attention_mask=padding_mask(SOURCE)))
    for row, length in enumerate((SOURCE != 0).sum(axis=1)):
        expected = numpy_reference.encode(encoder, norm, EMBEDDED[row, :length].astype(np.float64))
        np.testing.assert_allclose(memory[row, :length], expected, atol=1e-5)


def test_only_pre_norm_ends_in_a_normalisation_of_its_own() -> None:
    assert make_encoder("post").last_norm is None
    paths = [variable.path for variable in make_encoder("pre").variables]
    assert "encoder/last_norm/gamma" in paths


def test_dropout_is_active_only_in_training() -> None:
    encoder = make_encoder("post", dropout=0.4)

    def run(training: bool) -> np.ndarray:
        return numpy(encoder(EMBEDDED, attention_mask=padding_mask(SOURCE), training=training))

    assert (run(False) == run(False)).all()
    assert (run(True) != run(True)).any()


def test_every_sublayer_is_dropped_out() -> None:
    encoder = make_encoder("post", dropout=0.4)
    seeds = [variable.path for variable in encoder.non_trainable_variables]
    assert len(seeds) == 2 * 2  # layers · sublayers
