import random
from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_text

from pipeline.cleaning.normalization import normalize
from pipeline.dataset.schema import END_ID, PADDING_ID, UNKNOWN_ID
from pipeline.subwords.encoding import Subwords, load_subwords
from tests.helpers.datasets import builtin_splits, learn_subwords
from trainer.inference.tokenization import BytePairOps, TextOps, load_text_ops, normalize_text

HARD_LINES = [
    "",
    " ",
    "Grüße aus Köln, Ärger über Öl!",
    "u\u0308ber die Stra\u00dfe \u2013 \u201eja\u201c",  # decomposed: NFC makes it "über"
    "e\u0301 a\u030a \u1e9b\u0323 \u212b \ufb01",  # NFC composes; NFKC would change the last
    "\U0001f600 a\U0001f468\u200d\U0001f469\u200d\U0001f467 b",
    "one\ttwo  three   four ",
    "\n new\r\nline \x0b\x0c",
    "non\u00a0breaking and\u0085next\u2028line\u3000wide",
    "\u4e2d\u6587 \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \uac00\u1100\u1161",
    "## ##s <unk> </s> <pad>",
    "\u2581a b\u2581c \u2581",  # what subwords mark a space with
    "\u200bzero\ufeff width\u00ad",
    "x" * 300,
    "<2de> A dog.",
    " <bt>\tA <2de> dog.<bt> <bt>",
    "<2de>A <2de><bt> <2d <<2de>",
]


@pytest.fixture(scope="module", params=["bpe", "wordpiece", "symbols"])
def subwords_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("subwords")
    return learn_subwords(request.param, folder, 600, tags=("<2de>", "<bt>"))


@pytest.fixture(scope="module")
def ops(subwords_path: Path) -> TextOps:
    return load_text_ops(subwords_path)


@pytest.fixture(scope="module")
def subwords(subwords_path: Path) -> Subwords:
    return load_subwords(subwords_path)


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return [sentence for pair in builtin_splits()["train"][:100] for sentence in pair]


def tokenize(ops: TextOps, lines: list[str]) -> list[list[int]]:
    """Returns the ids of each line up to its padding, after checking that padding is last."""
    rows = ops.tokenize(tf.constant(lines)).numpy().tolist()
    lengths = [row.index(END_ID) + 1 for row in rows]
    for row, length in zip(rows, lengths, strict=True):
        assert row[length:] == [PADDING_ID] * (len(row) - length)
    return [row[:length] for row, length in zip(rows, lengths, strict=True)]


def test_ids_are_those_of_training(ops: TextOps, subwords: Subwords, sentences: list[str]) -> None:
    lines = sentences + HARD_LINES
    expected = subwords.encode([normalize(line) for line in lines])
    for line, ids, training in zip(lines, tokenize(ops, lines), expected, strict=True):
        assert ids == training + [END_ID], line


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_a_tag_in_the_text_is_one_id_before_those_of_the_sentence(
    kind: str, tmp_path: Path
) -> None:
    ops = load_text_ops(learn_subwords(kind, tmp_path, 600, tags=("<2de>",)))
    for line in ("A dog.", "Zwei Hunde laufen."):
        tagged, untagged = tokenize(ops, [f"<2de> {line}", line])
        assert tagged == [UNKNOWN_ID + 1, *untagged]


def test_text_comes_back(ops: TextOps, sentences: list[str]) -> None:
    ids = ops.tokenize(tf.constant(sentences))
    assert [text.decode() for text in ops.detokenize(ids).numpy()] == sentences


def test_text_is_that_of_the_pipeline_s_decoder(ops: TextOps, subwords: Subwords) -> None:
    """For any ids, since a model may produce what no sentence is encoded as."""
    dice = random.Random(11)
    rows = [
        dice.choices(range(subwords.vocabulary_size), k=dice.randrange(1, 9)) for _ in range(99)
    ]
    rows.append([UNKNOWN_ID, 300, UNKNOWN_ID])
    padded = tf.ragged.constant(rows, tf.int32).to_tensor(PADDING_ID)
    assert [text.decode() for text in ops.detokenize(padded).numpy()] == subwords.decode(rows)


def test_no_sentence_gives_no_rows(ops: TextOps) -> None:
    assert ops.tokenize(tf.constant([], tf.string)).shape[0] == 0


def test_bytes_that_are_no_utf_8_do_not_fail(ops: TextOps) -> None:
    broken, replaced = tokenize(ops, [b"caf\xe9", "caf\ufffd"])  # type: ignore[list-item]
    assert broken == replaced


def test_normalisation_is_that_of_the_pipeline() -> None:
    dice = random.Random(5)
    alphabet = [
        *" \t\n\r\f\v",
        *"aZ9.,äöüß",
        *"\u0301\u0308\u0323\u030a\u0327",  # combining marks, reordered and composed by NFC
        *"\u1100\u1161\u11a8\u0958\u212b\u2126\u1e9b\ufb01",
        *"\u00a0\u0085\u2028\u200b\ufeff\u00ad\x00\x1f",
        "\U0001f600",
    ]
    lines = ["".join(dice.choices(alphabet, k=dice.randrange(12))) for _ in range(3000)]
    normal = normalize_text(tf.constant(lines)).numpy()
    for line, received in zip(lines, normal, strict=True):
        assert received.decode() == normalize(line), ascii(line)


def test_the_private_attribute_of_tensorflow_text_that_is_replaced_exists(tmp_path: Path) -> None:
    """A renamed one would silently be ignored, and the resource would have no name."""
    path = learn_subwords("bpe", tmp_path, 600)
    own = tensorflow_text.SentencepieceTokenizer(path.read_bytes())._model_resource
    replaced = BytePairOps(str(path))._tokenizer._model_resource
    assert type(own) is not type(replaced)
    assert own.resource_handle.dtype == replaced.resource_handle.dtype == tf.resource


def test_a_new_random_seed_leaves_them_as_they_are(ops: TextOps) -> None:
    """It clears TensorFlow's caches of kernels, which own resources without a name."""
    in_graph = tf.function(ops.tokenize)
    text = tf.constant(HARD_LINES[2:3])
    before = in_graph(text).numpy().tolist()
    tf.random.set_seed(1)
    assert ops.tokenize(text).numpy().tolist() == in_graph(text).numpy().tolist() == before
