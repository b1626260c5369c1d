import collections
from pathlib import Path
from typing import Any

import pytest

from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import UNKNOWN_ID
from pipeline.dataset.tfrecord import unpack_ids
from pipeline.subwords.encoding import FILE_NAMES, Subwords, load_subwords
from pipeline.subwords.learning import LEARNERS
from pipeline.subwords.sharing import SharingConfig, check_tag

TAGS = ("<2de>", "<2de>+", "<bt>")
LINES = [
    "Zwei Hunde laufen über die grüne Wiese .",
    "Two dogs run across the green meadow .",
    "<2de> <2de>x",  # tags in the text that is learned from
]


@pytest.fixture(scope="module", params=["bpe", "wordpiece"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = collections.Counter(word for line in LINES for word in line.split(" "))
    path = tmp_path_factory.mktemp("tags") / FILE_NAMES[request.param]
    size = 330 if request.param == "bpe" else 46
    LEARNERS[request.param](words, size, str(path), tags=TAGS)
    return path


@pytest.fixture(scope="module")
def subwords(path: Path) -> Subwords:
    return load_subwords(path)


def pieces(subwords: Subwords, line: str) -> list[str]:
    (ids,) = subwords.encode([line])
    assert subwords.decode([ids]) == [line]
    return subwords.pieces(ids)


def test_tags_come_after_the_special_pieces_and_once(subwords: Subwords) -> None:
    every = subwords.pieces(range(subwords.vocabulary_size))
    first = UNKNOWN_ID + 1
    assert every[first : first + len(TAGS)] == [f"▁{tag}" for tag in TAGS]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_is_one_piece_and_leaves_the_others_as_they_are(subwords: Subwords, tag: str) -> None:
    alone = pieces(subwords, "Zwei dogs")
    assert pieces(subwords, f"{tag} Zwei dogs") == [f"▁{tag}", *alone]
    assert pieces(subwords, f"Zwei {tag} dogs")[-len(alone) :] != alone
    assert f"▁{tag}" in pieces(subwords, f"Zwei {tag} dogs")


def test_text_has_a_tag_where_a_word_begins_with_it_alone(subwords: Subwords) -> None:
    assert pieces(subwords, "<bt>dogs")[0] == "▁<bt>"
    for line in ("dogs<bt>", "<b"):
        (ids,) = subwords.encode([line])
        assert "▁<bt>" not in subwords.pieces(ids)


def test_merges_are_skipped_in_words_but_not_in_tags(tmp_path: Path) -> None:
    words = collections.Counter(word for line in LINES for word in line.split(" "))
    LEARNERS["bpe"](words, 330, str(tmp_path / "m.model"), tags=TAGS)
    bpe = load_subwords(tmp_path / "m.model")
    line = "<2de> laufen <2de>+ <bt>Hunde"
    for dropout in (0.0, 0.5, 0.999):
        (packed,) = bpe.sample_packed([line], dropout, seed=3)
        assert bpe.decode([unpack_ids(packed)]) == [line]
        sampled = bpe.pieces(unpack_ids(packed))
        assert sampled[0] == "▁<2de>" and {"▁<2de>+", "▁<bt>"} <= {*sampled}
    assert len(sampled) == 3 + len("▁laufen") + len("Hunde")
    (packed,) = bpe.sample_packed([line], 0.0, seed=3)
    assert unpack_ids(packed) == bpe.encode([line])[0]


def test_a_tag_without_a_piece_is_refused(path: Path) -> None:
    check_tag("<bt>", path)
    with pytest.raises(UserError, match=f"received --source_tag=<2fr>: {path} has no piece for it"):
        check_tag("<2fr>", path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tags": ("<2de>", "")}, "received --tags=<2de>,: expected different words"),
        ({"tags": ("<2de>", "<2de>")}, "received --tags=<2de>,<2de>: expected different words"),
        ({"tags": ("<2 de>",)}, "expected different words without spaces"),
        ({"source_tag": "▁de"}, "received --source_tag=▁de: expected different words"),
        ({"source_tag": ""}, "received --source_tag=: expected different words"),
    ],
)
def test_a_tag_that_is_no_word_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SharingConfig(**values)


@pytest.mark.parametrize(
    ("sharing", "more", "message"),
    [
        ({"source_tag": "<a>", "tags": ("<b>",)}, {}, "=<a> with --tags=<b>: expected one of"),
        ({"source_tag": "<a>"}, {}, "received --source_tag=<a> with --tags=: expected one of"),
        ({"tags": ("<a>",), "like": "x"}, {}, "received --tags=<a>: expected no --tags"),
        ({"tags": ("<a>",)}, {"subwords_model": ("m",)}, "--tags=<a>: expected no --tags"),
    ],
)
def test_tags_belong_to_the_learning_of_subwords(
    sharing: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PreprocessConfig(sharing=SharingConfig(**sharing), **more)
    PreprocessConfig(sharing=SharingConfig(source_tag="<a>", tags=("<a>", "<b>")))
    PreprocessConfig(sharing=SharingConfig(source_tag="<a>", like="x"))
