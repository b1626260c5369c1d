import numpy as np
import pytest
from keras import ops

from model.kernels.gather import batch_gather
from tests.helpers.small_models import numpy


def test_each_sentence_takes_its_own_rows() -> None:
    """The example in the docstring."""
    x, indices = ops.array([[5, 6, 7], [8, 9, 4]]), ops.array([[2, 0], [1, 1]])
    assert numpy(batch_gather(x, indices)).tolist() == [[7, 5], [9, 9]]


@pytest.mark.parametrize("rest", [(), (3,), (3, 5)])
def test_rows_keep_their_further_axes(rest: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(4, 6, *rest))
    indices = random.integers(0, 6, (4, 7), dtype=np.int32)
    taken = numpy(batch_gather(ops.convert_to_tensor(x), ops.convert_to_tensor(indices)))
    np.testing.assert_array_equal(taken, np.stack([x[b, indices[b]] for b in range(4)]))
