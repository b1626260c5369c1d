import dataclasses
from typing import Any

import pytest

from model.config import SearchConfig, TransformerConfig


def test_defaults_are_the_papers_base_model() -> None:
    config = TransformerConfig()
    assert (config.num_layers, config.model_dim, config.feed_forward_dim) == (6, 512, 2048)
    assert (config.num_heads, config.key_dim, config.value_dim) == (8, 64, 64)
    assert (config.dropout, config.norm, config.positions) == (0.1, "post", "sinusoidal")
    assert (config.attention_dropout, config.relu_dropout) == (0.0, 0.0)


def test_defaults_are_the_papers_search() -> None:
    config = SearchConfig()
    assert (config.beam_size, config.length_penalty, config.extra_length) == (4, 0.6, 50)
    assert (config.length_penalty_form, config.temperature) == ("gnmt", 0.0)
    assert (config.coverage_penalty, config.min_length, config.no_repeat_ngram) == (0.0, 1, 0)
    assert config.max_source_length == 256  # ours


def test_head_sizes_of_0_share_the_model_size_between_the_heads() -> None:
    config = TransformerConfig(model_dim=24, num_heads=4, value_dim=5)
    assert (config.key_dim, config.value_dim) == (6, 5)


def test_head_sizes_that_are_given_need_not_fit_the_model_size() -> None:
    config = TransformerConfig(model_dim=10, num_heads=3, key_dim=4, value_dim=7)
    assert (config.key_dim, config.value_dim) == (4, 7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_layers": 0}, "num_layers must be at least 1; received 0"),
        ({"model_dim": -2}, "model_dim must be at least 1; received -2"),
        ({"model_dim": 33}, "model_dim must be even .*; received 33"),
        ({"feed_forward_dim": 0}, "feed_forward_dim must be at least 1; received 0"),
        ({"num_heads": 0}, "num_heads must be at least 1; received 0"),
        ({"max_positions": 0}, "max_positions must be at least 1; received 0"),
        ({"key_dim": -1}, "key_dim must be at least 1; received -1"),
        ({"value_dim": -1}, "value_dim must be at least 1; received -1"),
        ({"num_heads": 7}, "model_dim 512 is not a multiple of num_heads; give key_dim; .* 7"),
        ({"num_heads": 7, "key_dim": 9}, "not a multiple of num_heads; give value_dim; .* 7"),
        ({"dropout": -0.1}, "dropout must be at least 0 and below 1; received -0.1"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1; received 1.0"),
        ({"attention_dropout": 1.0}, "attention_dropout must be at least 0 and below 1; rec.* 1"),
        ({"relu_dropout": -0.1}, "relu_dropout must be at least 0 and below 1; received -0.1"),
        ({"norm": "both"}, "norm must be 'post' or 'pre'; received 'both'"),
        ({"positions": "none"}, "'sinusoidal' or 'sinusoidal_halves' or 'learned'; .* 'none'"),
        ({"padding_embedding": "0"}, "padding_embedding must be 'learned' or 'zeros'; .* '0'"),
        ({"attention_init_variance": 0.0}, "attention_init_variance must be above 0; received 0"),
    ],
)
def test_impossible_architectures_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n_best": 0}, "n_best must be at least 1; received 0"),
        ({"n_best": 5}, r"n_best must be at most beam_size \(4\); received 5"),
        ({"min_length": 0}, "min_length must be at least 1; received 0"),
        ({"max_source_length": 1}, "max_source_length must be at least 2, .*; received 1"),
        ({"coverage_penalty": -0.1}, "coverage_penalty must be at least 0; received -0.1"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram must be at least 0; received -1"),
        ({"temperature": -1.0}, "temperature must be at least 0; received -1.0"),
        ({"temperature": 1.0, "top_k": -1}, "top_k must be at least 0; received -1"),
        ({"temperature": 1.0, "top_p": 0.0}, "top_p must be above 0 and at most 1; received 0"),
        ({"top_k": 5}, "for sampling, with a temperature above 0; received 0"),
        ({"top_p": 0.9}, "for sampling, with a temperature above 0; received 0"),
        ({"length_penalty_form": "wu"}, "must be 'gnmt' or 'power'; received 'wu'"),
        ({"beam_size": 0}, "beam_size must be at least 1; received 0"),
        ({"length_penalty": -0.6}, "length_penalty must be at least 0; received -0.6"),
        ({"extra_length": -1}, "extra_length must be at least 0; received -1"),
    ],
)
def test_impossible_searches_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchConfig(**values)


def test_configurations_cannot_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TransformerConfig().model_dim = 8  # type: ignore[misc]
