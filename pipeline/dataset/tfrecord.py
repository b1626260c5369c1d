"""Codec of rows: `tf.train.Example` messages in TFRecord framing, without TensorFlow.

The bytes equal TensorFlow's deterministic serialization, at half its cost, and Beam workers do not
need TensorFlow. Encoding and parsing must change together.
"""

import functools
import struct
from collections.abc import Iterable, Iterator

import google_crc32c

from pipeline.common import storage
from pipeline.common.errors import UserError

_MASK_DELTA = 0xA282EAD8
_LENGTH_DELIMITED = 2  # protobuf's wire type of everything in an Example
_CONTINUED = bytes(range(0x80, 0x100))  # all bytes of a varint except its last


def pack_ids(ids: Iterable[int]) -> bytes:
    r"""Returns ids as protobuf varints; concatenated bytes encode the concatenated lists.

    Example: `pack_ids([5, 300])` is `b"\x05\xac\x02"`.
    """
    return b"".join(map(_varint, ids))


def unpack_ids(packed: bytes) -> list[int]:
    """Returns the ids that `pack_ids` packed."""
    ids, position = [], 0
    while position < len(packed):
        value, position = _read_varint(packed, position)
        ids.append(value)
    return ids


def count_ids(packed: bytes) -> int:
    """Returns the number of ids that `pack_ids` packed, without unpacking them."""
    return len(packed.translate(None, _CONTINUED))


def encode_example(source: bytes, target: bytes) -> bytes:
    """Returns a serialized tf.train.Example with the int64 lists `source` and `target`.

    Args:
        source: ids of the source sentences from `pack_ids`, including end symbols.
        target: ids of the target sentences, in the same form.

    Example: `encode_example(pack_ids([5, 1]), pack_ids([7, 8, 1]))` is Example(features {feature
    {key: "source" value {int64_list {value: [5, 1]}}} feature {key: "target" …}}).
    """
    return pack_field(1, _feature(b"source", source) + _feature(b"target", target))


def parse_example(serialized: bytes) -> tuple[list[int], list[int]]:
    """Returns the ids `(source, target)` of a serialized tf.train.Example.

    Raises:
        ValueError: the bytes are not an Example with the int64 lists `source` and `target`.
    """
    try:
        lists = dict(_parse_feature(entry) for _, entry in _fields(dict(_fields(serialized))[1]))
        return lists[b"source"], lists[b"target"]
    except (KeyError, IndexError, TypeError) as error:
        expected = "a tf.train.Example with int64 lists `source` and `target`"
        raise ValueError(f"Received {serialized[:40]!r}…, expected {expected}.") from error


def pack_field(number: int, payload: bytes) -> bytes:
    """Returns a protobuf field that holds bytes, a string or a serialized message."""
    return bytes((number << 3 | _LENGTH_DELIMITED,)) + _varint(len(payload)) + payload


def frame_record(data: bytes) -> bytes:
    """Returns one TFRecord: length, its checksum, the data, its checksum."""
    length = struct.pack("<Q", len(data))
    checksums = struct.pack("<I", _masked_crc(length)), struct.pack("<I", _masked_crc(data))
    return b"".join((length, checksums[0], data, checksums[1]))


def read_records(path: str) -> Iterator[bytes]:
    """Yields the records of a TFRecord file, every checksum verified.

    Raises:
        UserError: the file is damaged or truncated.
    """
    with storage.open_file(path) as file:
        number = 0
        while header := file.read(12):
            length = header[:8].ljust(8, b"\0")
            data = file.read(struct.unpack("<Q", length)[0] if _intact(length, header[8:]) else 0)
            if not _intact(length, header[8:]) or not _intact(data, file.read(4)):
                raise UserError(
                    f"{path} is damaged at record {number}: its checksum does not match; "
                    "delete the dataset directory and preprocess again"
                )
            yield data
            number += 1


@functools.lru_cache(maxsize=1 << 17)  # every id of any usual vocabulary
def _varint(value: int) -> bytes:
    """Returns protobuf's little-endian base-128 form: 300 is the bytes ac 02."""
    if value < 0:
        raise ValueError(f"Received id {value}, expected an id of at least 0.")
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def _feature(name: bytes, values: bytes) -> bytes:
    int64_list = pack_field(1, values) if values else b""
    return pack_field(1, pack_field(1, name) + pack_field(2, pack_field(3, int64_list)))


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while data[position] & 0x80:
        value |= (data[position] & 0x7F) << shift
        shift += 7
        position += 1
    return value | data[position] << shift, position + 1


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields (number, payload) of a protobuf message's length-delimited fields."""
    position = 0
    while position < len(message):
        tag, position = _read_varint(message, position)
        length, position = _read_varint(message, position)
        if tag & 7 != _LENGTH_DELIMITED or position + length > len(message):
            raise IndexError(position)
        yield tag >> 3, message[position : position + length]
        position += length


def _parse_feature(entry: bytes) -> tuple[bytes, list[int]]:
    fields = dict(_fields(entry))
    return fields[1], unpack_ids(dict(_fields(dict(_fields(fields[2]))[3])).get(1, b""))


def _masked_crc(data: bytes) -> int:
    """Returns TFRecord's checksum: CRC-32C rotated by 15 bits, plus a constant."""
    crc = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def _intact(data: bytes, checksum: bytes) -> bool:
    return struct.pack("<I", _masked_crc(data)) == checksum
