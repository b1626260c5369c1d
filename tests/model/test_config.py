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


def test_head_sizes_of_0_divide_the_model_size_by_the_heads() -> None:
    config = TransformerConfig(model_dim=24, num_heads=4, value_dim=5)
    assert (config.key_dim, config.value_dim) == (6, 5)


def test_explicit_head_sizes_may_differ_from_the_model_size() -> None:
    config = TransformerConfig(model_dim=10, num_heads=3, key_dim=4, value_dim=7)
    assert (config.key_dim, config.value_dim) == (4, 7)


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ({}, (6, 6)),
        ({"num_layers": 4}, (4, 4)),
        ({"decoder_layers": 2}, (6, 2)),
        ({"num_layers": 4, "encoder_layers": 9}, (9, 4)),
        ({"encoder_layers": 5, "decoder_layers": 3}, (5, 3)),
    ],
)
def test_a_stack_without_a_depth_of_its_own_has_num_layers(
    layers: dict[str, int], expected: tuple[int, int]
) -> None:
    assert TransformerConfig(**layers).depths == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_layers": 0}, "received --num_layers=0: expected at least 1"),
        ({"encoder_layers": -1}, "received --encoder_layers=-1: expected at least 0"),
        ({"decoder_layers": -1}, "received --decoder_layers=-1: expected at least 0"),
        ({"attention_window": -1}, "received --attention_window=-1: expected at least 0"),
        ({"attention_window": 4}, "received --attention_window=4: expected an odd number"),
        ({"model_dim": -2}, "received --model_dim=-2: expected at least 1"),
        ({"model_dim": 33}, "received --model_dim=33: expected an even number"),
        ({"feed_forward_dim": 0}, "received --feed_forward_dim=0: expected at least 1"),
        ({"num_heads": 0}, "received --num_heads=0: expected at least 1"),
        ({"max_positions": 0}, "received --max_positions=0: expected at least 1"),
        ({"key_dim": -1}, "received --key_dim=-1: expected at least 1"),
        ({"value_dim": -1}, "received --value_dim=-1: expected at least 1"),
        ({"num_heads": 7}, "--num_heads=7 with --model_dim=512: .* divisor .* give --key_dim"),
        ({"num_heads": 7, "key_dim": 9}, "--num_heads=7 with .* divisor .* give --value_dim"),
        ({"dropout": -0.1}, "received --dropout=-0.1: expected at least 0 and below 1"),
        ({"dropout": 1.0}, "received --dropout=1.0: expected at least 0 and below 1"),
        ({"attention_dropout": 1.0}, "received --attention_dropout=1.0: .*least 0 and below 1"),
        ({"relu_dropout": -0.1}, "received --relu_dropout=-0.1: expected at least 0 and below 1"),
        ({"norm": "both"}, "received --norm=both: expected post or pre"),
        ({"positions": "none"}, "=none: expected sinusoidal or sinusoidal_halves or learned"),
        ({"padding_embedding": "0"}, "received --padding_embedding=0: expected learned or zeros"),
        ({"attention_init_variance": 0.0}, "--attention_init_variance=0.0: expected above 0"),
    ],
)
def test_impossible_architectures_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n_best": 0}, "received --n_best=0: expected at least 1"),
        ({"n_best": 5}, "received --n_best=5 with --beam_size=4: .* at most beam_size"),
        ({"min_length": 0}, "received --min_length=0: expected at least 1"),
        ({"max_source_length": 1}, "received --max_source_length=1: expected at least 2"),
        ({"coverage_penalty": -0.1}, "received --coverage_penalty=-0.1: expected at least 0"),
        ({"no_repeat_ngram": -1}, "received --no_repeat_ngram=-1: expected at least 0"),
        ({"temperature": -1.0}, "received --temperature=-1.0: expected at least 0"),
        ({"temperature": 1.0, "top_k": -1}, "received --top_k=-1: expected at least 0"),
        ({"temperature": 1.0, "top_p": 0.0}, "--top_p=0.0: expected above 0 and at most 1"),
        ({"top_k": 5}, "--top_k=5 with .* and --temperature=0.0: expected a temperature above 0"),
        ({"top_p": 0.9}, "--top_p=0.9 and --temperature=0.0: expected a temperature above 0"),
        ({"length_penalty_form": "wu"}, "received --length_penalty_form=wu: .* gnmt or power"),
        ({"beam_size": 0}, "received --beam_size=0: expected at least 1"),
        ({"beam_size": 257}, "received --beam_size=257: expected at least 1 and at most 256"),
        (
            {"min_length": 27, "max_source_length": 20, "extra_length": 6},
            "--min_length=27 with --max_source_length=20 and --extra_length=6: .* at most their",
        ),
        ({"length_penalty": -0.6}, "received --length_penalty=-0.6: expected at least 0"),
        ({"extra_length": -1}, "received --extra_length=-1: expected at least 0"),
    ],
)
def test_impossible_searches_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchConfig(**values)


def test_extreme_searches_are_accepted() -> None:
    SearchConfig(beam_size=256, min_length=26, max_source_length=20, extra_length=6)


def test_configurations_cannot_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TransformerConfig().model_dim = 8  # type: ignore[misc]
