"""The variations of Table 3 and of Tensor2Tensor run, with the parameters counted by hand."""

import math
from typing import Any

import numpy as np
import pytest

from model.config import TransformerConfig
from model.transformer import Transformer
from tests.helpers.small_models import (
    BATCH,
    SOURCE,
    TARGET,
    TARGET_LENGTH,
    TENSOR2TENSOR,
    VOCABULARY,
    numpy,
)


def count_parameters(config: TransformerConfig, vocabulary_size: int) -> int:
    """Counts by hand: no bias in projections, two in the feed-forward, two per norm."""
    model_dim, inner = config.model_dim, config.feed_forward_dim
    attention = 2 * model_dim * config.num_heads * (config.key_dim + config.value_dim)
    feed_forward = 2 * model_dim * inner + inner + model_dim
    norm = 2 * model_dim
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    last_norms = 2 * norm if config.norm == "pre" else 0
    positions = config.max_positions * model_dim if config.positions == "learned" else 0
    target_space = model_dim if config.target_space else 0
    encoder, decoder = config.depths
    layers = encoder * encoder_layer + decoder * decoder_layer
    return vocabulary_size * model_dim + layers + last_norms + positions + target_space


# Table 3's rows, and other settings, at a sixteenth of their sizes.
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_heads": 1, "key_dim": 32, "value_dim": 32},  # A
        {"num_heads": 4, "key_dim": 8, "value_dim": 8},
        {"num_heads": 16, "key_dim": 2, "value_dim": 2},
        {"num_heads": 32, "key_dim": 1, "value_dim": 1},
        {"key_dim": 1},  # B
        {"key_dim": 2},
        {"num_layers": 2},  # C
        {"num_layers": 4},
        {"encoder_layers": 3, "decoder_layers": 2},
        {"decoder_layers": 4},
        {"model_dim": 16, "key_dim": 2, "value_dim": 2},
        {"model_dim": 64, "key_dim": 8, "value_dim": 8},
        {"feed_forward_dim": 64},
        {"feed_forward_dim": 256},
        {"dropout": 0.0},  # D
        {"dropout": 0.2},
        {"positions": "learned"},  # E
        {"positions": "learned", "norm": "pre"},
        TENSOR2TENSOR,
        {"model_dim": 64, "feed_forward_dim": 256, "num_heads": 16, "dropout": 0.3},  # big
    ],
)
def test_every_row_of_table_3_builds_and_runs(changes: dict[str, Any]) -> None:
    sizes = {"num_layers": 1, "model_dim": 32, "feed_forward_dim": 128, "num_heads": 8}
    model = Transformer(TransformerConfig(**(sizes | changes)), VOCABULARY)
    weights = sum(math.prod(variable.shape) for variable in model.trainable_variables)
    assert weights == count_parameters(model.config, VOCABULARY)
    logits = numpy(model(SOURCE, TARGET, training=True))
    assert logits.shape == (BATCH, TARGET_LENGTH, VOCABULARY) and np.isfinite(logits).all()
