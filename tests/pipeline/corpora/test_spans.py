import io

import pytest

from pipeline.common.errors import UserError
from pipeline.corpora.spans import Span, cut_aligned_chunks, cut_chunks, decode_lines

TEXT = "\ufeffone\ntwo\u0085still two\nthree\r\nfour\u2028still four\nfive".encode()


def test_chunks_are_byte_ranges_of_whole_lines() -> None:
    chunks = list(cut_chunks(io.BytesIO(TEXT), 2, path="text.gz.cut", name="text.gz"))
    assert b"".join(chunk.data for chunk in chunks) == TEXT
    assert [chunk.lines for chunk in chunks] == [2, 2, 1]
    assert [chunk.span.first_line for chunk in chunks] == [1, 3, 5]
    for chunk in chunks:
        span = chunk.span
        assert TEXT[span.start : span.start + span.size] == chunk.data
        assert (span.path, span.name) == ("text.gz.cut", "text.gz")


def test_byte_order_mark_is_dropped_at_the_start_of_a_file_only() -> None:
    span = Span("text", 0, 0, "text", 1)
    assert decode_lines(b"\xef\xbb\xbfa\n", span, remedy="") == ["a"]
    later = Span("text", 9, 0, "text", 2)
    assert decode_lines(b"\xef\xbb\xbfa\n", later, remedy="") == ["\ufeffa"]


def test_undecodable_byte_is_reported_by_file_and_line_with_the_remedy() -> None:
    span = Span("text", 90, 0, "text.gz", 7)
    with pytest.raises(UserError, match=r"^text\.gz, line 8: byte 0xff is not UTF-8; recode it$"):
        decode_lines(b"a\nb \xff\n", span, remedy="recode it")
    assert decode_lines(b"a\nb \xff\n", span, remedy="", strict=False) == ["a", "b \udcff"]


def test_aligned_texts_are_read_no_further_than_the_chunk() -> None:
    """A text may come from a pipe, whose writer waits for the translation of the last line."""
    texts = [io.BytesIO(b"a\nb\nc\n"), io.BytesIO(b"1\n2\n3\n")]
    chunks = cut_aligned_chunks(texts, 2, ["letters", "digits"])
    assert [chunk.data for chunk in next(chunks)] == [b"a\nb\n", b"1\n2\n"]
    assert [text.tell() for text in texts] == [4, 4]
    assert [chunk.data for chunk in next(chunks)] == [b"c\n", b"3\n"]
    assert list(chunks) == []


@pytest.mark.parametrize("chunk_lines", [1, 2, 3, 9])
def test_the_shorter_text_is_named_with_its_length(chunk_lines: int) -> None:
    texts = [b"1\n2\n3\n4\n5\n".splitlines(keepends=True), [b"a\n", b"b"]]
    with pytest.raises(UserError, match=r"^letters ends after line 2 and digits goes on: "):
        list(cut_aligned_chunks(texts, chunk_lines, ["digits", "letters"]))
