import numpy as np
from keras import ops

from model.search.state import Beam, Cache, Sentences, compact, current_ancestry
from tests.helpers.small_models import numpy


def make_beam(ancestors: np.ndarray, entries: np.ndarray, tokens: np.ndarray) -> Beam:
    """Makes a beam of bool [B, W, E], [B, E] and int [B, W, T]; other fields count sentences."""
    batch, width, capacity = ancestors.shape
    index = np.arange(batch, dtype=np.int32)
    by_hypothesis = np.tile(index[:, None], (1, width)).astype(np.float32)
    return Beam(
        position=2,
        num_entries=capacity,
        sentences=Sentences(index, 10 + index, 20 + index[:, None], 30 + index),
        live_tokens=tokens,
        live_log_probs=by_hypothesis,
        live_coverage=by_hypothesis[:, :, None],
        ancestors=ops.convert_to_tensor(ancestors),
        finished_tokens=tokens,
        finished_scores=by_hypothesis,
        cache=Cache(past=[ops.convert_to_tensor(entries[:, None, :, None])], fixed=(index,)),
    )


def test_the_worked_example_of_compaction() -> None:
    """The example in the docstring of `model.search.state`."""
    beam = make_beam(
        ancestors=np.array([[[1, 0, 0, 1], [1, 0, 0, 1]]], bool),
        entries=np.array([[10, 11, 12, 13]]),
        tokens=np.array([[[5, 7], [5, 8]]]),
    )
    compacted = compact(beam, np.array([0]), new_positions=1)
    assert numpy(compacted.live_tokens).tolist() == [[[5, 7], [5, 8]]]
    assert numpy(compacted.ancestors).tolist() == [[[1, 1, 0, 0], [1, 1, 0, 0]]]
    assert numpy(compacted.cache.past[0])[:, 0, :, 0].tolist() == [[10, 13, 0, 0]]
    assert int(compacted.num_entries) == 2
    ancestry = current_ancestry(compacted)
    assert numpy(ancestry.ancestors).tolist() == [[[1, 1, 1, 0], [1, 1, 0, 1]]]
    assert int(ancestry.num_entries) == 2


def test_compaction_keeps_some_sentences_and_as_many_entries_as_the_largest_needs() -> None:
    """Sentence 2 needs three entries, so both have four; sentence 1 would have needed all six."""
    ancestors = np.zeros((3, 2, 6), bool)
    ancestors[0, :, 0] = ancestors[0, :, 3] = True
    ancestors[1] = True
    ancestors[2, 0, [1, 2]] = ancestors[2, 1, [1, 5]] = True
    entries, tokens = np.arange(18).reshape(3, 6), np.arange(12).reshape(3, 2, 2)
    beam = make_beam(ancestors, entries, tokens)
    compacted = compact(beam, np.array([0, 2]), new_positions=3)
    assert int(compacted.num_entries) == 4
    past = numpy(compacted.cache.past[0])[:, 0, :, 0]
    assert past.tolist() == [[0, 3, 1, 2, *[0] * 6], [13, 14, 17, 12, *[0] * 6]]
    kept = numpy(compacted.ancestors)
    assert kept[0].tolist() == [[1, 1, *[0] * 8]] * 2
    assert kept[1].tolist() == [[1, 1, *[0] * 8], [1, 0, 1, *[0] * 7]]
    assert numpy(compacted.live_tokens).tolist() == tokens[[0, 2]].tolist()
    assert numpy(compacted.finished_tokens).tolist() == tokens[[0, 2]].tolist()
    assert numpy(compacted.cache.fixed[0]).tolist() == [0, 2]
    for values in (compacted.live_log_probs, compacted.live_coverage, compacted.finished_scores):
        assert numpy(values).reshape(2, 2).tolist() == [[0, 0], [2, 2]]
    sentences = [numpy(field).ravel().tolist() for field in compacted.sentences]
    assert sentences == [[0, 2], [10, 12], [20, 22], [30, 32]]


def test_compaction_to_no_sentences_is_empty() -> None:
    beam = make_beam(np.ones((2, 2, 4), bool), np.ones((2, 4)), np.ones((2, 2, 3), int))
    compacted = compact(beam, np.zeros([0], int), new_positions=1)
    assert int(compacted.num_entries) == 0
    assert tuple(compacted.cache.past[0].shape) == (0, 1, 2, 1)
