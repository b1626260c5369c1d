from collections.abc import Iterator

import keras
import pytest


@pytest.fixture
def bfloat16() -> Iterator[None]:
    """Layers made meanwhile compute in bfloat16 on float32 weights."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    yield
    keras.config.set_dtype_policy(before)
