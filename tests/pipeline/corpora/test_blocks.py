import gzip
import zipfile
from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from pipeline.corpora.blocks import cut_blocks, read_span
from pipeline.corpora.inputs import AlignedTexts, PairTable, Text, file_texts, table_files
from pipeline.corpora.readers import Columns

SOURCE = "one\ntwo\u0085still two\nthree\r\nfour\nfive"
TARGET = "eins\nzwei\ndrei\nvier\u2028noch vier\nfünf\n"


def write(path: Path, data: bytes) -> str:
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return str(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_blocks_hold_aligned_lines(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"s{suffix}", SOURCE.encode())
    target = write(tmp_path / f"t{suffix}", TARGET.encode())
    blocks, (corpus,) = cut_blocks("train", file_texts([source], [target]), 2, str(tmp_path))
    assert [read_span(block.source) for block in blocks] == [
        ["one", "two\u0085still two"],
        ["three", "four"],
        ["five"],
    ]
    assert [read_span(block.target) for block in blocks] == [
        ["eins", "zwei"],
        ["drei", "vier\u2028noch vier"],
        ["fünf"],
    ]
    assert [block.name for block in blocks] == ["train-00000", "train-00001", "train-00002"]
    assert [block.lines for block in blocks] == [2, 2, 1]
    assert (corpus.lines, corpus.name) == (5, f"{source} + {target}")


def test_plain_and_compressed_text_have_the_same_identity(tmp_path: Path) -> None:
    def identity(suffix: str) -> str:
        texts = file_texts(
            [write(tmp_path / f"s{suffix}", SOURCE.encode())],
            [write(tmp_path / f"t{suffix}", TARGET.encode())],
        )
        return cut_blocks("train", texts, 2, str(tmp_path))[1][0].sha256

    assert identity("") == identity(".gz")


def test_several_files_are_concatenated_in_order(tmp_path: Path) -> None:
    names = [write(tmp_path / name, f"{name}\n{name}\n".encode()) for name in "abcd"]
    blocks, corpora = cut_blocks("dev", file_texts(names[:2], names[2:]), 9, str(tmp_path))
    assert [read_span(block.source)[0] for block in blocks] == ["a", "b"]
    assert [read_span(block.target)[0] for block in blocks] == ["c", "d"]
    assert [block.index for block in blocks] == [0, 1]
    assert len(corpora) == 2


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    name = write(tmp_path / "s", b"\xef\xbb\xbfone\n")
    blocks, _ = cut_blocks("train", file_texts([name], [name]), 9, str(tmp_path))
    assert read_span(blocks[0].source) == ["one"]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_undecodable_bytes_are_reported_by_file_and_line(tmp_path: Path, suffix: str) -> None:
    name = write(tmp_path / f"s{suffix}", b"one\ntwo\nthree\nf\xfcnf\nsix\n")
    blocks, _ = cut_blocks("train", file_texts([name], [name]), 2, str(tmp_path))
    with pytest.raises(UserError, match=f"{name}, line 4: byte 0xfc is not UTF-8; .*--encoding"):
        read_span(blocks[1].source)


def test_undecodable_bytes_of_a_table_are_reported_or_kept_for_the_rule(tmp_path: Path) -> None:
    name = write(
        tmp_path / "x.jsonl", b'{"en": "\\ud83d", "de": ""}\n{"en": "five", "de": "f\xfcnf"}\n'
    )
    table = table_files([name], Columns(("en", "de")), "utf-8")
    ((block,), _) = cut_blocks("train", table, 9, str(tmp_path))
    assert read_span(block.source) == ["?", "five"]
    with pytest.raises(UserError, match=f"{name}, line 2: byte 0xfc is not UTF-8"):
        read_span(block.target)
    assert read_span(block.target, strict=False) == ["", "f\udcfcnf"]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (b"a\nb\n", b"a\n", "s has 2 lines but .*t has 1"),
        (b"", b"", "are empty: expected at least one pair"),
    ],
)
def test_sides_of_unequal_length_are_refused(
    tmp_path: Path, source: bytes, target: bytes, message: str
) -> None:
    texts = file_texts([write(tmp_path / "s", source)], [write(tmp_path / "t", target)])
    with pytest.raises(UserError, match=message):
        cut_blocks("train", texts, 9, str(tmp_path))


def test_a_broken_gzip_file_is_named(tmp_path: Path) -> None:
    whole = gzip.compress(b"one line of many\n" * 1000)
    (tmp_path / "s.gz").write_bytes(whole[: len(whole) // 2])
    texts = file_texts([str(tmp_path / "s.gz")], [str(tmp_path / "s.gz")])
    with pytest.raises(UserError, match="s.gz is a broken gz file"):
        cut_blocks("train", texts, 9, str(tmp_path))


def test_old_mac_line_ends_are_named(tmp_path: Path) -> None:
    source = write(tmp_path / "s.gz", b"one\rtwo\rthree\r\n")
    target = write(tmp_path / "t", b"eins\nzwei\ndrei\n")
    expected = (
        r"s\.gz has one line of 15 bytes with carriage returns only, 3 old Mac lines: "
        r"expected line feeds; convert it, such as with tr '\\r' '\\n'"
    )
    with pytest.raises(UserError, match=expected):
        cut_blocks("train", file_texts([source], [target]), 9, str(tmp_path))
    table = table_of(tmp_path / "x.tsv", "one\teins\rtwo\tzwei\r")
    with pytest.raises(UserError, match=r"x\.tsv has one line of 9 bytes with carriage returns"):
        cut_blocks("train", table, 9, str(tmp_path))


@pytest.mark.parametrize("data", [b"one\r\n", b"one\r", b"one\r\ntwo\rthree\r\n"])
def test_carriage_returns_beside_line_feeds_are_accepted(tmp_path: Path, data: bytes) -> None:
    text = write(tmp_path / "s", data)
    blocks, _ = cut_blocks("train", file_texts([text], [text]), 9, str(tmp_path))
    assert read_span(blocks[0].source)[0] == "one"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file .*nowhere.en"):
        cut_blocks("train", file_texts(["nowhere.en"], ["nowhere.de"]), 9, str(tmp_path))


def test_unequal_numbers_of_files_are_refused() -> None:
    with pytest.raises(UserError, match="2 source and 1 target files"):
        file_texts(["a", "b"], ["c"])


def test_members_and_test_sets_are_cut_as_text(tmp_path: Path) -> None:
    segments = b'<doc>\n<seg id="1">one</seg>\n<seg id="2">two</seg>\n</doc>\n'
    source = write(tmp_path / "s.sgm", segments)
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("deep/t.de", "eins\nzwei\n")
    target = f"{tmp_path / 't.zip'}::deep/t.de"
    blocks, _ = cut_blocks("dev", file_texts([source], [target]), 9, str(tmp_path))
    assert read_span(blocks[0].source) == ["one", "two"]
    assert read_span(blocks[0].target) == ["eins", "zwei"]


def table_of(path: Path, text: str) -> list[PairTable]:
    return table_files([write(path, text.encode())], Columns(("en", "de")), "utf-8")


def test_a_table_is_cut_like_aligned_files(tmp_path: Path) -> None:
    rows = "one\teins\ntwo\tzwei\u2028\nthree\u0085\tdrei\n"
    blocks, (corpus,) = cut_blocks("dev", table_of(tmp_path / "x.tsv", rows), 2, str(tmp_path))
    assert [read_span(block.source) for block in blocks] == [["one", "two"], ["three\u0085"]]
    assert [read_span(block.target) for block in blocks] == [["eins", "zwei\u2028"], ["drei"]]
    assert [block.lines for block in blocks] == [2, 1]
    assert (corpus.lines, corpus.name) == (3, str(tmp_path / "x.tsv"))
    assert (blocks[1].source.name, blocks[1].source.first_line) == (str(tmp_path / "x.tsv"), 3)


def test_a_line_end_in_a_cell_does_not_shift_the_alignment(tmp_path: Path) -> None:
    table = table_of(tmp_path / "x.csv", '"one\ntwo",eins\nthree,"drei\r\nvier\n"\n')
    blocks, _ = cut_blocks("dev", table, 9, str(tmp_path))
    assert read_span(blocks[0].source) == ["one two", "three"]
    assert [line.split() for line in read_span(blocks[0].target)] == [["eins"], ["drei", "vier"]]


def test_an_unpaired_surrogate_does_not_stop_the_run(tmp_path: Path) -> None:
    table = table_of(tmp_path / "x.jsonl", '{"en": "a\\ud83d", "de": "b"}\n')
    blocks, _ = cut_blocks("dev", table, 9, str(tmp_path))
    assert read_span(blocks[0].source) == ["a?"]


def test_the_identity_of_a_table_is_its_pairs(tmp_path: Path) -> None:
    def identity(text: str, block_lines: int) -> str:
        table = table_of(tmp_path / "x.tsv", text)
        return cut_blocks("dev", table, block_lines, str(tmp_path))[1][0].sha256

    text = "one\teins\ntwo\tzwei\n"
    assert identity(text, 1) == identity(text, 9) == identity(text.replace("\n", "\r\n"), 9)
    assert identity(text, 9) != identity(text.replace("zwei", "zwo"), 9)


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"x\.tsv is empty: expected at least one pair"):
        cut_blocks("dev", table_of(tmp_path / "x.tsv", ""), 9, str(tmp_path))


def test_text_in_another_encoding_is_cut_as_utf8(tmp_path: Path) -> None:
    source = write(tmp_path / "s", "Fünf\u0085\r\nsechs\r\n".encode("latin-1"))
    target = write(tmp_path / "t", "fünf\nsechs\n".encode())
    blocks, _ = cut_blocks(
        "dev", file_texts([source], [target], ("latin-1", "utf-8")), 9, str(tmp_path)
    )
    assert read_span(blocks[0].source) == ["Fünf\u0085", "sechs"]
    assert read_span(blocks[0].target) == ["fünf", "sechs"]
    assert (blocks[0].source.path != source, blocks[0].target.path) == (True, target)


def test_an_unexpected_number_of_pairs_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = Text(write(tmp_path / "s", b"one\n"))
    cut_blocks("dev", [AlignedTexts(text, text, expected_pairs=1)], 9, str(tmp_path))
    assert not caplog.records
    cut_blocks("dev", [AlignedTexts(text, text, expected_pairs=2)], 9, str(tmp_path))
    assert "has 1 pairs, expected 2 as published" in caplog.text
