from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from pipeline.subwords import learning
from pipeline.subwords.vocabulary_size import LEAST, choose_vocabulary_size


@pytest.mark.parametrize(
    ("kind", "pairs", "size"),
    [
        ("bpe", 36_000_000, 37_000),
        ("wordpiece", 36_000_000, 32_000),
        ("bpe", 1_000_000, 37_000),
        ("bpe", 999_999, 16_000),
        ("bpe", 29_000, 8_000),
        ("wordpiece", 29_000, 8_000),
        ("bpe", 8_000, 4_000),
        ("bpe", 5_000, 2_000),
        ("bpe", 1, 1_000),
    ],
)
def test_the_size_grows_with_the_corpus_to_that_of_the_paper(
    kind: str, pairs: int, size: int
) -> None:
    assert choose_vocabulary_size(kind, pairs, characters=100) == size


def test_a_large_alphabet_leaves_room_for_as_many_merges() -> None:
    assert choose_vocabulary_size("bpe", 20_000, characters=5_000) == 10_259
    assert choose_vocabulary_size("bpe", 4_500_000, characters=5_000) == 37_000


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_the_least_size_can_be_learned_and_a_smaller_one_cannot(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "subwords"
    learning.LEARNERS[kind]({"a": 9}, LEAST[kind], str(path))
    assert path.stat().st_size
    with pytest.raises(UserError, match=f"expected at least {LEAST[kind]}"):
        learning.LEARNERS[kind]({"a": 9}, LEAST[kind] - 1, str(path))
