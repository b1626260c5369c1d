"""The formula of memory: what it depends on, and that XLA's compiled programs agree."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from model.config import TransformerConfig
from tests.helpers.commands import run_process
from trainer.config import TrainingConfig
from trainer.training.memory import Memory, estimate_memory

PARAMETERS, VOCABULARY_SIZE = 1_000_000, 2_000
SHAPE = (64, 24, 32)
SMALL = TransformerConfig(num_layers=2, model_dim=64, feed_forward_dim=256, num_heads=4)

# Where attention, the feed-forward layers, weights or logits take most.
COMPILED: dict[str, tuple[dict[str, Any], int, tuple[int, int, int]]] = {
    "long rows": ({"num_layers": 3, "model_dim": 64, "num_heads": 8}, 200, (8, 128, 96)),
    "wide layers": (
        {"num_layers": 2, "model_dim": 128, "feed_forward_dim": 1024},
        300,
        (64, 8, 12),
    ),
    "deep encoder": (
        {"encoder_layers": 6, "decoder_layers": 1, "model_dim": 64},
        300,
        (32, 48, 40),
    ),
    "many subwords": ({"num_layers": 2, "model_dim": 128}, 20_000, (16, 16, 24)),
}
DEFAULTS = {"num_heads": 4, "feed_forward_dim": 256}
TOLERANCE = 0.25  # XLA fuses, shares and pads arrays as it likes


def estimate(config: TransformerConfig = SMALL, *, replicas: int = 1, **training: Any) -> Memory:
    return estimate_memory(
        config,
        TrainingConfig(**training),
        SHAPE,
        parameters=PARAMETERS,
        vocabulary_size=VOCABULARY_SIZE,
        replicas=replicas,
    )


def test_weights_gradients_and_optimizer_are_float32_copies() -> None:
    memory = estimate()
    assert (memory.weights, memory.gradients) == (4 * PARAMETERS, 4 * PARAMETERS)
    assert memory.optimizer == 8 * PARAMETERS
    assert estimate(ema_decay=0.999).optimizer == 12 * PARAMETERS
    assert estimate(mixed_precision="bfloat16").weights == 6 * PARAMETERS
    assert memory.total == sum(memory)


def test_frozen_weights_have_neither_gradients_nor_moments() -> None:
    memory = estimate_memory(
        SMALL,
        TrainingConfig(),
        SHAPE,
        parameters=PARAMETERS,
        trained=PARAMETERS // 4,
        vocabulary_size=VOCABULARY_SIZE,
    )
    assert memory.weights == 4 * PARAMETERS
    assert (memory.gradients, memory.optimizer) == (PARAMETERS, 2 * PARAMETERS)


def test_replicas_and_accumulation_divide_activations() -> None:
    whole, parts = estimate(), estimate(gradient_accumulation=4)
    gradient_of_matrix = 4 * VOCABULARY_SIZE * SMALL.model_dim  # of the loss, whatever the batch
    fixed = whole.activations - gradient_of_matrix
    assert parts.activations - gradient_of_matrix == pytest.approx(fixed / 4)
    assert parts.gradients == 2 * whole.gradients
    assert estimate(replicas=4).activations == parts.activations
    assert estimate(replicas=4).gradients == whole.gradients


def test_activations_grow_with_what_a_layer_keeps() -> None:
    def grown(**changes: Any) -> float:
        return estimate(dataclasses.replace(SMALL, **changes)).activations - base

    base = estimate().activations
    rows, source, target = SHAPE
    positions = rows * (source + target)
    assert 0 < grown(encoder_layers=3) < grown(decoder_layers=3)
    assert grown(encoder_layers=3) + grown(decoder_layers=3) == grown(num_layers=3)
    assert grown(feed_forward_dim=257) == positions * 2 * 4  # one column more in two layers
    pairs = rows * 4 * (source**2 + target**2 + source * target)  # of 4 heads
    assert grown(attention_dropout=0.1) == 2 * pairs * (4 + 2)
    sublayers = 2 * rows * (2 * source + 3 * target) + positions  # and the embeddings
    assert grown(dropout=0.0) == -2 * sublayers * SMALL.model_dim
    assert estimate(mixed_precision="bfloat16").activations < 0.7 * base


@pytest.mark.heavy
def test_xla_needs_what_the_formula_says(tmp_path: Path) -> None:
    """In a process of its own: XLA describes programs only if asked before TensorFlow starts."""
    cases = {
        name: ({**DEFAULTS, **config}, vocabulary_size, shape)
        for name, (config, vocabulary_size, shape) in COMPILED.items()
    }
    script = """
import json, sys
from pathlib import Path
from tests.benchmarks.memory import compiled_bytes, dump_programs
from trainer.runtime.startup import start_tensorflow
dump = Path(sys.argv[1])
dump_programs(dump)
start_tensorflow()
from model.config import TransformerConfig
from trainer.paper.parameter_counts import count_parameters
for config, vocabulary_size, shape in json.loads(sys.argv[2]).values():
    config = TransformerConfig(**config)
    compiled = compiled_bytes(config, vocabulary_size, shape, dump)
    print(compiled, count_parameters(config, vocabulary_size))
"""
    result = run_process("-c", script, tmp_path, json.dumps(cases))
    assert result.returncode == 0, result.stderr
    for (name, (config, vocabulary_size, shape)), line in zip(
        cases.items(), result.stdout.splitlines(), strict=True
    ):
        compiled, parameters = map(int, line.split())
        memory = estimate_memory(
            TransformerConfig(**config),
            TrainingConfig(),
            shape,
            parameters=parameters,
            vocabulary_size=vocabulary_size,
        )
        estimated = memory.total - memory.optimizer
        assert compiled == pytest.approx(estimated, rel=TOLERANCE), name
