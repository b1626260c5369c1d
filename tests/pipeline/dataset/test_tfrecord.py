from pathlib import Path

import pytest
import tensorflow as tf

from pipeline.common.errors import UserError
from pipeline.dataset.tfrecord import (
    count_ids,
    encode_example,
    frame_record,
    pack_ids,
    parse_example,
    read_records,
    unpack_ids,
)

PAIRS = [
    ([5, 300, 70_000, 1], [7, 1]),
    ([1], [1]),
    ([], [2**40, 127, 128, 16_383, 16_384]),
    ([3] * 200, [1]),
]


def encode(source: list[int], target: list[int]) -> bytes:
    return encode_example(pack_ids(source), pack_ids(target))


@pytest.mark.parametrize("ids", [ids for pair in PAIRS for ids in pair])
def test_packed_ids_can_be_joined_counted_and_unpacked(ids: list[int]) -> None:
    packed = pack_ids(ids)
    assert unpack_ids(packed) == ids and count_ids(packed) == len(ids)
    assert packed == b"".join(pack_ids([id]) for id in ids)


def tensorflow_bytes(source: list[int], target: list[int]) -> bytes:
    example = tf.train.Example()
    example.features.feature["target"].int64_list.value.extend(target)
    example.features.feature["source"].int64_list.value.extend(source)
    return example.SerializeToString(deterministic=True)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_examples_are_tensorflows_bytes(source: list[int], target: list[int]) -> None:
    # The empty list is the exception: protobuf keeps an untouched int64_list out of the feature.
    if source and target:
        assert encode(source, target) == tensorflow_bytes(source, target)
    parsed = tf.train.Example.FromString(encode(source, target))
    assert list(parsed.features.feature["source"].int64_list.value) == source
    assert list(parsed.features.feature["target"].int64_list.value) == target


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_parsing_undoes_encoding(source: list[int], target: list[int]) -> None:
    assert parse_example(encode(source, target)) == (source, target)


def test_parsing_reads_tensorflows_bytes() -> None:
    assert parse_example(tensorflow_bytes([4, 1], [5, 6, 1])) == ([4, 1], [5, 6, 1])


@pytest.mark.parametrize("damaged", [b"", b"\x0a", b"\x0a\x05abc", b"\xff" * 9, b"text"])
def test_parsing_refuses_other_bytes(damaged: bytes) -> None:
    with pytest.raises(ValueError, match="expected a tf.train.Example"):
        parse_example(damaged)


def test_negative_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        encode([-1], [1])


def test_frames_are_the_bytes_of_tensorflows_writer(tmp_path: Path) -> None:
    records = [encode(*pair) for pair in PAIRS] + [b""]
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for record in records:
            writer.write(record)
    assert b"".join(map(frame_record, records)) == (tmp_path / "theirs").read_bytes()


def test_records_are_read_by_tensorflow_and_by_us(tmp_path: Path) -> None:
    path = str(tmp_path / "ours")
    records = [encode(*pair) for pair in PAIRS]
    Path(path).write_bytes(b"".join(map(frame_record, records)))
    assert [record.numpy() for record in tf.data.TFRecordDataset(path)] == records
    assert list(read_records(path)) == records


@pytest.mark.parametrize("position", [0, 5, 9, 12, 15, -1])
def test_any_flipped_byte_is_detected(tmp_path: Path, position: int) -> None:
    data = bytearray(frame_record(b"first") + frame_record(b"second"))
    data[position] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    with pytest.raises(UserError, match=f"damaged at record {int(position < 0)}"):
        list(read_records(str(tmp_path / "damaged")))


@pytest.mark.parametrize("cut", [1, 4, 5, 20])
def test_a_truncated_file_is_detected(tmp_path: Path, cut: int) -> None:
    (tmp_path / "short").write_bytes((frame_record(b"first") + frame_record(b"second"))[:-cut])
    with pytest.raises(UserError, match="damaged at record 1"):
        list(read_records(str(tmp_path / "short")))
