"""Running text: nothing is lost, whatever the sentences; with a model that shouts."""

import re
import sys

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from trainer.inference.documents import halve, load_splitter, translate_documents

LONGEST = 5  # words of a sentence
TEXT = [
    "Mr. Smith came. He left!",
    "",
    "   ",
    "one",
    "a b c d e f g, h i j k l m n o p q r s t. End.",
    "\tIndented. Why?  Two spaces.",
]


def shout(text: tf.Tensor) -> dict[str, tf.Tensor]:
    """Upper case; at most five words of a sentence, as a model cuts what is too long."""
    assert 0 < len(text) <= 64
    words = [sentence.decode().split() for sentence in text.numpy()]
    return {
        "translation": tf.constant([" ".join(each[:LONGEST]).upper() for each in words]),
        "score": tf.constant([-float(len(each)) for each in words]),
        "source_tokens_cut": tf.constant([max(0, len(each) - LONGEST) for each in words]),
    }


def split(text: str) -> list[str]:
    """After a full stop, a question or exclamation mark, and spaces; but not after "Mr."."""
    return re.split(r"(?<=[.!?])(?<!Mr\.)\s+", text)


def translate(lines: list[str], language: str = "en") -> dict[str, list]:
    result = translate_documents(shout, split, language)(tf.constant(lines, tf.string))
    return {name: values.numpy().tolist() for name, values in result.items()}


def test_every_word_of_every_line_is_translated_in_its_line() -> None:
    result = translate(TEXT)
    received = [line.decode().split() for line in result["translation"]]
    assert received == [line.upper().split() for line in TEXT]
    assert result["source_tokens_cut"] == [0] * len(TEXT)


def test_sentences_are_translated_apart_and_scores_averaged() -> None:
    result = translate(["Mr. Smith came. He left!", ""])
    assert result["translation"] == [b"MR. SMITH CAME. HE LEFT!", b""]
    assert result["score"] == [-2.5, 0.0]


def test_more_sentences_than_a_batch_keep_their_order() -> None:
    lines = [" ".join(f"s{row}x{n}." for n in range(row % 7)) for row in range(60)]
    received = translate(lines)["translation"]
    assert received == [line.upper().encode() for line in lines]


def test_a_word_that_is_too_long_by_itself_is_counted_as_cut() -> None:
    def cut_all(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return {**shout(text), "source_tokens_cut": tf.fill([len(text)], 3)}

    result = translate_documents(cut_all, split, "en")(tf.constant(["ab cd", "ef"]))
    assert result["translation"].numpy().tolist() == [b"AB CD", b"EF"]
    assert result["source_tokens_cut"].numpy().tolist() == [6, 3]


def test_no_lines_are_no_lines() -> None:
    assert translate([])["translation"] == []


def test_languages_without_spaces_are_joined_without() -> None:
    assert translate(["One. Two."], "zh")["translation"] == [b"ONE.TWO."]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("a b, c d e", ("a b,", "c d e")),
        ("a, b c d e f g h", ("a, b c d", "e f g h")),  # the clause is too short
        ("one  two", ("one", "two")),
        ("word", None),
    ],
)
def test_a_sentence_is_halved_after_a_clause_in_its_middle(
    sentence: str, expected: tuple[str, str] | None
) -> None:
    assert halve(sentence) == expected


def test_sentencex_splits_after_sentences_and_loses_nothing() -> None:
    pytest.importorskip("sentencex", reason="needs sentencex: pip install '.[sentences]'")
    text = 'Dr. Smith met Mr. Jones. "Really?" he asked. It cost $3.50.'
    sentences = load_splitter("en")(text)
    assert "".join(sentences) == text
    assert [each.strip() for each in sentences] == [
        "Dr. Smith met Mr. Jones.",
        '"Really?" he asked.',
        "It cost $3.50.",
    ]
    assert len(load_splitter("de")("Am 3. Mai kam z. B. Herr Dr. Maier. Er ging.")) == 2
    assert len(load_splitter("")("One. Two.")) == 2


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(UserError, match=r"pip install '.\[sentences\]'"):
        load_splitter("en")
