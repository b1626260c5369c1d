"""Lines of text: one definition of normal form, and keys that identify sentences and pairs.

Every function is pure. The exported model normalises with TensorFlow ops that do exactly what
`normalize` does, so its definition must not drift.
"""

import hashlib
import unicodedata
from collections.abc import Iterable

# Bytes that are no UTF-8 live on as lone surrogates, until a rule drops the pair that holds them.
_UTF8 = ("utf-8", "surrogateescape")


def normalize(line: str) -> str:
    r"""Returns the line in Unicode NFC, with each run of ASCII whitespace made one space.

    ASCII whitespace is `[ \t\n\r\f\v]`; both ends are stripped. Other blanks (U+00A0, U+0085,
    U+2028) are text. U+2581, which subwords take for a space, becomes the underscore it looks
    like. Example: `"Zwei \t Hunde\r"` becomes `"Zwei Hunde"`.
    """
    if not line.isascii():
        line = unicodedata.normalize("NFC", line).replace("\u2581", "_")
    # bytes.split() means ASCII whitespace; str.split() would take U+0085 and its like too.
    return b" ".join(line.encode(*_UTF8).split()).decode(*_UTF8)


def count_recomposed(lines: Iterable[str]) -> int:
    """Returns how many of the lines Unicode NFC changes."""
    return sum(not unicodedata.is_normalized("NFC", line) for line in lines)


def sentence_key(sentence: str) -> bytes:
    """Returns 8 bytes that identify a sentence on every machine; they also order held-out ones."""
    return hashlib.blake2b(sentence.encode(*_UTF8), digest_size=8, person=b"sentence").digest()


def pair_key(source: str, target: str) -> bytes:
    """Returns 8 bytes that identify a pair on every machine; they also order pairs in a shard."""
    text = f"{source}\t{target}".encode(*_UTF8)  # a normalised line holds no tab
    return hashlib.blake2b(text, digest_size=8, person=b"pair").digest()
