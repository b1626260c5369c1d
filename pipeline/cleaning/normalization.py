"""Normalization of lines, and keys that identify sentences and pairs.

Every function is pure. The exported model normalizes with TensorFlow ops that give the same
results as `normalize`, so a change here requires a change there.
"""

import hashlib
import unicodedata
from collections.abc import Iterable

# Undecodable bytes are kept as lone surrogates (PEP 383), until a rule drops their pair.
_UTF8 = ("utf-8", "surrogateescape")


def normalize(line: str) -> str:
    r"""Returns the line in Unicode NFC, with each run of ASCII whitespace replaced by one space.

    ASCII whitespace is `[ \t\n\r\f\v]`; both ends are stripped. Other blanks (U+00A0, U+0085,
    U+2028) are text. U+2581, which marks spaces in subwords, becomes an underscore.
    Example: `"Zwei \t Hunde\r"` becomes `"Zwei Hunde"`.
    """
    if not line.isascii():
        line = unicodedata.normalize("NFC", line).replace("\u2581", "_")
    # bytes.split() splits at ASCII whitespace only; str.split() would also split at U+0085.
    return b" ".join(line.encode(*_UTF8).split()).decode(*_UTF8)


def count_recomposed(lines: Iterable[str]) -> int:
    """Returns the number of lines that Unicode NFC changes."""
    return sum(not unicodedata.is_normalized("NFC", line) for line in lines)


def sentence_key(sentence: str) -> bytes:
    """Returns 8 bytes that identify a sentence on every machine; they also order held-out pairs."""
    return hashlib.blake2b(sentence.encode(*_UTF8), digest_size=8, person=b"sentence").digest()


def pair_key(source: str, target: str) -> bytes:
    """Returns 8 bytes that identify a pair on every machine; they also order pairs in a shard."""
    text = f"{source}\t{target}".encode(*_UTF8)  # a normalized line holds no tab
    return hashlib.blake2b(text, digest_size=8, person=b"pair").digest()
