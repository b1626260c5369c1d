import numpy as np

from model.masks import PADDING_ID, causal_mask, padding_mask
from tests.model.small import numpy


def test_padding_id_is_the_datasets() -> None:
    assert PADDING_ID == 0


def test_padding_mask_hides_padding_from_every_head_and_query() -> None:
    mask = numpy(padding_mask(np.array([[7, 1, 0, 0], [4, 5, 9, 1], [1, 0, 0, 0]])))
    assert mask.shape == (3, 1, 1, 4) and mask.dtype == bool
    assert mask[:, 0, 0].tolist() == [
        [True, True, False, False],
        [True, True, True, True],
        [True, False, False, False],
    ]


def test_causal_mask_shows_a_position_itself_and_earlier_ones() -> None:
    mask = numpy(causal_mask(3))
    assert mask.shape == (1, 1, 3, 3) and mask.dtype == bool
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]
