"""A tiny model whose sizes all differ, so that swapped dimensions fail."""

from typing import Any

import keras
import numpy as np

from model.config import TransformerConfig

BATCH, SOURCE_LENGTH, TARGET_LENGTH, WIDTH, VOCABULARY = 3, 6, 4, 5, 11

# The end symbol is 1, padding 0; one row is full, the others are shorter.
SOURCE = np.array([[5, 9, 3, 7, 3, 1], [10, 4, 6, 1, 0, 0], [8, 1, 0, 0, 0, 0]])
TARGET = np.array([[6, 2, 9, 1], [3, 8, 1, 0], [1, 0, 0, 0]])


def small_config(**changes: Any) -> TransformerConfig:
    sizes: dict[str, Any] = {
        "num_layers": 2,
        "model_dim": 8,
        "feed_forward_dim": 13,
        "num_heads": 2,
        "key_dim": 9,
        "value_dim": 10,
        "dropout": 0.0,
        "max_positions": 7,
    }
    return TransformerConfig(**(sizes | changes))


# The architecture fields in which Tensor2Tensor differs from the paper.
TENSOR2TENSOR: dict[str, Any] = {
    "norm": "pre",
    "positions": "sinusoidal_halves",
    "padding_embedding": "zeros",
    "target_space": True,
}


def wave(*shape: int, phase: float = 0.0) -> np.ndarray:
    """Fixed float32 numbers in [-1, 1]; the square makes matrices of full rank."""
    index = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    return np.sin(0.37 * index**2 + phase).astype(np.float32)


def fill_with_waves(layer: keras.layers.Layer) -> None:
    """Sets each weight to its own fixed numbers: 1 ± 0.3 for scales of norms, else 0 ± 0.3."""
    for number, variable in enumerate(layer.trainable_variables):
        centre = 1.0 if variable.name == "gamma" else 0.0
        variable.assign(centre + 0.3 * wave(*variable.shape, phase=number + 1.0))


def numpy(tensor: Any) -> np.ndarray:
    return keras.ops.convert_to_numpy(tensor)
