from typing import Any

import numpy as np
import pytest
from keras import ops

from model.kernels.top_k import top_k
from tests.helpers.small_models import numpy


@pytest.mark.parametrize("size", [4, 9, 100, 101, 400, 1000])
@pytest.mark.parametrize("count", [1, 4, 8])
@pytest.mark.parametrize("static", [True, False])
def test_the_best_come_first_whatever_the_size(size: int, count: int, static: bool) -> None:
    x = np.random.default_rng(1).normal(size=(3, 2, size)).astype(np.float32)
    x[0, 0, :5] += 9.0  # the best may be neighbours
    x[0, 1, -4:] += 9.0
    number = count if static else ops.convert_to_tensor(count)
    values, indices = map(numpy, top_k(ops.convert_to_tensor(x), number))
    order = np.argsort(-x, axis=2)[:, :, :count]  # all of them, if fewer
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, axis=2))


def test_a_large_vocabulary_is_sorted_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, keras_top_k = [], ops.top_k

    def recording_top_k(x: Any, count: int) -> Any:
        sizes.append(x.shape[-1])
        return keras_top_k(x, count)

    monkeypatch.setattr(ops, "top_k", recording_top_k)
    top_k(ops.ones((1, 1, 1000)), 4)
    assert len(sizes) == 2 and max(sizes) < 200
