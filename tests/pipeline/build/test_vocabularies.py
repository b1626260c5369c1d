"""Which subwords made elsewhere can be used, and what is said of the others."""

import collections
import hashlib
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from pipeline.build.vocabularies import check_given
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.subwords import encoding, learning

TEXT = "the old dog sleeps and the old cat sings a song while the sun shines and the wind blows"
WORDS = collections.Counter(TEXT.split(" "))
OURS = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}


def make_model(folder: Path, **options: Any) -> str:
    """Writes a SentencePiece model made with other options than ours."""
    path = folder / "other.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([TEXT] * 9),
            model_writer=file,
            minloglevel=2,
            **{"vocab_size": 300, "model_type": "bpe", "byte_fallback": True, **OURS, **options},
        )
    return str(path)


def check(path: str, **fields: Any) -> list[str]:
    return check_given(PreprocessConfig(subwords_model=(path,), **fields))


@pytest.fixture
def wordpiece_path(tmp_path: Path) -> str:
    path = str(tmp_path / "subwords.vocab")
    learning.learn_wordpiece(WORDS, 35, path)
    return path


def test_our_own_subwords_are_identified(tmp_path: Path, wordpiece_path: str) -> None:
    bpe_path = str(tmp_path / "subwords.model")
    learning.learn_bpe(WORDS, 290, bpe_path)
    for path, kind, size in ((bpe_path, "bpe", 290), (wordpiece_path, "wordpiece", None)):
        expected = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert check(path, subwords=kind, vocabulary_size=size) == [expected]
    assert check_given(PreprocessConfig()) == []


def test_other_special_ids_are_reported_with_the_expected_ones(tmp_path: Path) -> None:
    defaults = {"pad_id": -1, "unk_id": 0, "bos_id": 1, "eos_id": 2}
    expected = (
        "has the special ids padding none, end 2, unknown 0: "
        "expected padding 0, end 1, unknown 2; .* --pad_id=0 --eos_id=1 --unk_id=2"
    )
    with pytest.raises(UserError, match=expected):
        check(make_model(tmp_path, **defaults))


@pytest.mark.parametrize(
    "options",
    [{"add_dummy_prefix": False}, {"treat_whitespace_as_suffix": True}],
)
def test_a_model_with_other_word_marks_is_refused(tmp_path: Path, options: dict[str, bool]) -> None:
    with pytest.raises(UserError, match="does not encode a sentence word by word"):
        check(make_model(tmp_path, **options))


def test_a_model_whose_subwords_cross_spaces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not encode a sentence word by word"):
        check(make_model(tmp_path, split_by_whitespace=False))


def test_a_model_without_byte_fallback_causes_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    check(make_model(tmp_path))
    assert "byte fallback" not in caplog.text
    check(make_model(tmp_path, byte_fallback=False, vocab_size=40))
    assert "no byte fallback: characters it lacks become unknown" in caplog.text


def test_a_unigram_model_with_our_special_ids_can_be_used(tmp_path: Path) -> None:
    path = make_model(tmp_path, model_type="unigram", vocab_size=280)
    assert check(path)
    vocabulary = encoding.load_subwords(path)
    line = "the old dog sings — Ünnot"
    whole = sentencepiece.SentencePieceProcessor(model_file=path).encode(line)
    assert vocabulary.encode([line]) == [whole]


def test_a_size_other_than_the_requested_one_is_refused(wordpiece_path: str) -> None:
    expected = r"has \d+ subwords, received --vocabulary_size=99: leave it out"
    with pytest.raises(UserError, match=expected):
        check(wordpiece_path, subwords="wordpiece", vocabulary_size=99)


def test_subwords_of_the_other_kind_are_refused(tmp_path: Path, wordpiece_path: str) -> None:
    with pytest.raises(UserError, match="is not a SentencePiece model: .* --subwords=wordpiece"):
        check(wordpiece_path)
    with pytest.raises(UserError, match="starts with .*: expected the wordpieces of a dataset"):
        check(make_model(tmp_path), subwords="wordpiece")


def test_wordpieces_of_another_layout_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\nthe\n##s\n", "utf-8")
    with pytest.raises(UserError, match=r"starts with \[PAD\] \[UNK\] \[CLS\]: expected .*<pad>"):
        check(str(path), subwords="wordpiece")


@pytest.mark.parametrize("lines", ["▁\n▁a\n▁a\n", "a\n##b\n"])
def test_wordpieces_with_repeats_or_without_the_word_mark_are_refused(
    tmp_path: Path, lines: str
) -> None:
    path = tmp_path / "subwords.vocab"
    path.write_text(f"<pad>\n</s>\n<unk>\n{lines}", "utf-8")
    with pytest.raises(UserError, match="expected the wordpieces of a dataset"):
        check(str(path), subwords="wordpiece")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file .*none: expected .*DIR/subwords.model"):
        check(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("shared", "files", "expected"), [(True, 2, "one file"), (False, 1, "two files")]
)
def test_each_vocabulary_has_a_file(shared: bool, files: int, expected: str) -> None:
    with pytest.raises(
        ValueError, match=f"--shared_vocabulary={shared!s}".lower() + f".*{expected}"
    ):
        PreprocessConfig(subwords_model=("a",) * files, shared_vocabulary=shared)
