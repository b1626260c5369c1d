import numpy as np

from model.masks import (
    END_ID,
    PADDING_ID,
    causal_mask,
    number_sentences,
    padding_mask,
    positions_in_sentences,
    sentence_mask,
    window_mask,
)
from pipeline.dataset import schema
from tests.helpers.small_models import numpy


def test_special_ids_are_the_datasets() -> None:
    assert (PADDING_ID, END_ID) == (schema.PADDING_ID, schema.END_ID)


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


def test_window_mask_is_centred_on_each_position() -> None:
    mask = numpy(window_mask(4, 3))
    assert mask.shape == (1, 1, 4, 4) and mask.dtype == bool
    assert mask[0, 0].astype(int).tolist() == [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 1, 1, 1],
        [0, 0, 1, 1],
    ]
    assert numpy(window_mask(9, 5))[0, 0].sum(axis=1).tolist() == [3, 4, 5, 5, 5, 5, 5, 4, 3]
    assert numpy(window_mask(4, 7)).all() and (numpy(window_mask(4, 1))[0, 0] == np.eye(4)).all()


def test_sentences_of_a_row_are_numbered_and_padding_is_in_none() -> None:
    rows = np.array([[7, 1, 4, 5, 1, 0], [1, 1, 0, 0, 0, 0], [3, 3, 3, 3, 3, 1]])
    assert numpy(number_sentences(rows)).tolist() == [
        [0, 0, 1, 1, 1, -1],
        [0, 1, -1, -1, -1, -1],
        [0, 0, 0, 0, 0, 0],
    ]


def test_a_query_looks_at_the_sentence_of_its_own_number() -> None:
    mask = numpy(sentence_mask(np.array([[0, 1, 1]]), np.array([[0, 0, 1, -1]])))
    assert mask.shape == (1, 1, 3, 4)
    assert mask[0, 0].tolist() == [
        [True, True, False, False],
        [False, False, True, False],
        [False, False, True, False],
    ]


def test_positions_restart_in_each_sentence() -> None:
    sentences = np.array([[0, 0, 1, 1, 1, -1], [0, 0, 0, 0, 1, 2]])
    assert numpy(positions_in_sentences(sentences)).tolist() == [
        [0, 1, 0, 1, 2, 0],
        [0, 1, 2, 3, 0, 0],
    ]
