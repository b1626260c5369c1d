import collections
from pathlib import Path

import pytest
import tensorflow_text

from pipeline.common.errors import UserError
from pipeline.dataset.schema import END_ID, PADDING_ID, UNKNOWN_ID
from pipeline.dataset.tfrecord import unpack_ids
from pipeline.subwords import encoding, learning, wordpiece

LINES = [
    "Zwei Hunde laufen über die grüne Wiese.",
    "Two dogs run across the green meadow.",
    "Die Mädchen essen süße Äpfel, weil sie hungrig sind.",
    "The girls eat sweet apples because they are hungry.",
]
NEVER_SEEN = [
    "Straßenbahn 😀 👩‍👩‍👧",
    "a\u0085b\u2028c \u00a0 d",
    "日本語 한국어 עברית",
    "",
    "x\x00y \x7f",
]


def count_words(lines: list[str]) -> dict[str, int]:
    return collections.Counter(word for line in lines for word in line.split(" "))


@pytest.fixture(scope="module")
def bpe_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("bpe") / encoding.FILE_NAMES["bpe"])
    learning.learn_bpe(count_words(LINES), 340, path)
    return path


@pytest.fixture(scope="module")
def wordpiece_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("wordpiece") / encoding.FILE_NAMES["wordpiece"])
    learning.learn_wordpiece(count_words(LINES), 70, path)
    return path


def test_bpe_restores_any_text(bpe_path: str) -> None:
    bpe = encoding.load_subwords(bpe_path)
    assert bpe.kind == "bpe" and bpe.vocabulary_size == 340
    assert bpe.decode(bpe.encode(LINES + NEVER_SEEN)) == LINES + NEVER_SEEN


class OvertakenSubwords(encoding.BytePairSubwords):
    """Once `overtake` is set, another thread seems to encode many words before the next ones."""

    overtake = False

    def _encode_words(self, words: list[str]) -> list[list[int]]:
        if self.overtake:
            self.overtake = False
            self.encode([" ".join(map(str, range(12)))])
        return super()._encode_words(words)


def test_threads_that_share_subwords_keep_each_others_words(bpe_path: str) -> None:
    bpe = OvertakenSubwords(bpe_path, cached_words=12)
    expected = bpe.encode(LINES)
    bpe.encode(LINES[:1])
    bpe.overtake = True
    assert bpe.encode([f"{LINES[0]} new"])[0][: len(expected[0])] == expected[0]
    assert not bpe.overtake


def test_learned_words_are_the_most_frequent_and_not_the_first_by_spelling() -> None:
    counts = {f"{number:03}": 1 for number in range(1000)} | {"999": 2}
    learned = learning.most_frequent(counts.items(), 50)
    assert learned == learning.most_frequent(reversed(counts.items()), 50)
    assert len(learned) == 50 and "999" in learned
    assert sum(word < "500" for word in learned) < 40


def test_bpe_knows_every_character_and_uses_no_special_id(bpe_path: str) -> None:
    ids = [id for ids in encoding.load_subwords(bpe_path).encode(LINES + NEVER_SEEN) for id in ids]
    assert min(ids) > UNKNOWN_ID


def test_bpe_ids_are_those_of_tensorflow_text(bpe_path: str) -> None:
    op = tensorflow_text.SentencepieceTokenizer(Path(bpe_path).read_bytes())
    lines = LINES + NEVER_SEEN
    assert encoding.load_subwords(bpe_path).encode(lines) == op.tokenize(lines).to_list()


def test_decoding_ignores_padding_and_end(bpe_path: str, wordpiece_path: str) -> None:
    for path in (bpe_path, wordpiece_path):
        vocabulary = encoding.load_subwords(path)
        (ids,) = vocabulary.encode(LINES[:1])
        assert vocabulary.decode([[*ids, END_ID, PADDING_ID]]) == LINES[:1]


def test_a_full_cache_is_emptied_and_changes_no_id(bpe_path: str) -> None:
    expected = encoding.load_subwords(bpe_path).encode(LINES)
    small = encoding.BytePairSubwords(bpe_path, cached_words=2)
    assert [small.encode([line])[0] for line in LINES] == expected
    assert len(small._packed_words) <= len(LINES[-1].split())


def test_the_order_of_counts_does_not_matter(bpe_path: str, tmp_path: Path) -> None:
    counts = count_words(LINES)
    again = str(tmp_path / "again.model")
    learning.learn_bpe(dict(reversed(counts.items())), 340, again)
    assert Path(again).read_bytes() == Path(bpe_path).read_bytes()


def test_words_beyond_the_most_frequent_are_not_learned_from(tmp_path: Path) -> None:
    counts = {word: count + 1 for word, count in count_words(LINES).items()}
    for name, extra in (("without", {}), ("with", {"zzyzx": 1})):
        path = str(tmp_path / name)
        learning.learn_bpe(counts | extra, 340, path, learned_words=len(counts))
    assert (tmp_path / "with").read_bytes() == (tmp_path / "without").read_bytes()


def test_bpe_names_the_largest_and_the_smallest_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--vocabulary_size=9000 is more .* at most \d+") as error:
        learning.learn_bpe(count_words(LINES), 9000, str(tmp_path / "m"))
    largest = int(str(error.value).split()[-1])
    learning.learn_bpe(count_words(LINES), largest, str(tmp_path / "m"))
    with pytest.raises(UserError, match=r"--vocabulary_size=200 is less .* at least \d+"):
        learning.learn_bpe(count_words(LINES), 200, str(tmp_path / "m"))


def test_wordpiece_restores_text_of_known_characters(wordpiece_path: str) -> None:
    vocabulary = encoding.load_subwords(wordpiece_path)
    assert vocabulary.kind == "wordpiece" and 63 <= vocabulary.vocabulary_size <= 70
    lines = [*LINES, "Die grünen Meadows, hungrige.", "über", ""]
    assert vocabulary.decode(vocabulary.encode(lines)) == lines


def test_wordpiece_starts_with_the_special_pieces(wordpiece_path: str) -> None:
    assert Path(wordpiece_path).read_text("utf-8").split("\n")[:3] == list(wordpiece.SPECIAL)


def test_wordpiece_marks_a_word_of_unknown_characters(wordpiece_path: str) -> None:
    (ids,) = encoding.load_subwords(wordpiece_path).encode(["日本 dogs"])
    assert ids[0] == UNKNOWN_ID and UNKNOWN_ID not in ids[1:]


def test_wordpiece_ids_are_those_of_the_serving_op(wordpiece_path: str) -> None:
    op = wordpiece.tokenizer(Path(wordpiece_path).read_text("utf-8").split("\n")[:-1])
    marked = [[wordpiece.MARK + word for word in line.split(" ")] for line in LINES]
    expected = [[id for word in op.tokenize(words).to_list() for id in word] for words in marked]
    assert encoding.load_subwords(wordpiece_path).encode(LINES) == expected


def test_wordpiece_names_the_largest_and_the_smallest_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--vocabulary_size=30 is less .* at least \d+"):
        learning.learn_wordpiece(count_words(LINES), 30, str(tmp_path / "v"))
    with pytest.raises(UserError, match=r"--vocabulary_size=9000 is more .* at most \d+"):
        learning.learn_wordpiece(count_words(LINES), 9000, str(tmp_path / "v"))


def test_pieces_are_spelled_as_in_the_vocabulary(bpe_path: str, wordpiece_path: str) -> None:
    for path, marks in ((bpe_path, ("▁",)), (wordpiece_path, ("▁", "##"))):
        vocabulary = encoding.load_subwords(path)
        (ids,) = vocabulary.encode(["Zwei grüne"])
        pieces = vocabulary.pieces([*ids, END_ID])
        assert len(pieces) == len(ids) + 1 and pieces[-1] == "</s>"
        text = "".join(pieces[:-1])
        for mark in marks:
            text = text.replace(mark, "")
        assert text == "Zweigrüne"


def test_bpe_dropout_follows_its_seed(bpe_path: str) -> None:
    bpe = encoding.load_subwords(bpe_path)
    samples = [bpe.sample_packed(LINES, 0.3, seed) for seed in (0, 1, 2, 1)]
    assert samples[1] == samples[3]
    assert len(set(map(tuple, samples))) == 3
    assert all(bpe.decode(list(map(unpack_ids, sample))) == LINES for sample in samples)


def test_dropout_of_0_makes_all_merges(bpe_path: str) -> None:
    bpe = encoding.load_subwords(bpe_path)
    lines = LINES + NEVER_SEEN
    assert bpe.sample_packed(lines, 0.0, 1) == bpe.encode_packed(lines)


def test_wordpieces_reject_dropout(wordpiece_path: str) -> None:
    with pytest.raises(NotImplementedError, match="BPE-dropout requires bpe"):
        encoding.load_subwords(wordpiece_path).sample_packed(LINES, 0.1, 1)
