"""Subwords: sentences to ids and back, by SentencePiece BPE (§5.1) or TensorFlow Text wordpiece.

No piece crosses a space, so sentences are encoded word by word, through a cache; each symbol of a
tree is one piece. Ids 0, 1 and 2 are padding, end and unknown. `learning` makes the vocabularies of
text, `symbols` those of trees.
"""

import abc
import functools
import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import sentencepiece

from pipeline.common import storage
from pipeline.dataset.schema import END_ID, SIDES, UNKNOWN_ID
from pipeline.dataset.tfrecord import pack_ids, unpack_ids
from pipeline.subwords import bpe_dropout, wordpiece

BPE, WORDPIECE, SYMBOLS = "bpe", "wordpiece", "symbols"
FILE_NAMES = {BPE: "subwords.model", WORDPIECE: "subwords.vocab", SYMBOLS: "subwords.symbols"}
_CACHED_WORDS = 1 << 18  # about 60 MiB; holds most running words of any corpus
_SPACE = "▁"  # SentencePiece's first character of a word


class Subwords(abc.ABC):
    """A learned vocabulary. `kind` is a key of `FILE_NAMES`; ids are below `vocabulary_size`."""

    kind: str
    vocabulary_size: int

    def __init__(self, cached_words: int) -> None:
        """Makes an empty cache for this many words; a full cache is emptied."""
        self._cached_words = cached_words
        self._packed_words: dict[str, bytes] = {}

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Returns the ids of normalized lines, without end symbols."""
        return [unpack_ids(packed) for packed in self.encode_packed(lines)]

    def encode_packed(self, lines: Sequence[str]) -> list[bytes]:
        """Returns the ids of normalized lines, packed by `tfrecord.pack_ids`.

        A line's bytes are its words' bytes concatenated, so each word is encoded and packed once.
        """
        sentences = [line.split(" ") if line else [] for line in lines]
        words = self._packed_words
        new = set().union(*sentences).difference(words)
        if len(words) + len(new) > self._cached_words:
            # A new dictionary, because another thread may still read the old one.
            words = self._packed_words = {}
            new = set().union(*sentences)
        ordered = list(new)
        words.update(zip(ordered, map(pack_ids, self._encode_words(ordered)), strict=True))
        return [b"".join(map(words.__getitem__, sentence)) for sentence in sentences]

    def sample_packed(self, lines: Sequence[str], dropout: float, seed: int) -> list[bytes]:
        """Returns the packed ids of normalized lines, with merges skipped at random.

        Args:
            lines: normalized lines.
            dropout: probability of skipping a merge (Provilkov et al. 2020, "BPE-Dropout").
            seed: equal lines and seeds give equal ids.

        Raises:
            NotImplementedError: the subwords are not BPE.
        """
        raise NotImplementedError(f"received {self.kind}: BPE-dropout requires bpe subwords")

    @abc.abstractmethod
    def decode(self, ids_batch: Sequence[Sequence[int]]) -> list[str]:
        """Returns the text of each sentence; padding and end symbols are ignored."""

    @abc.abstractmethod
    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Returns the subwords of a sentence as the vocabulary spells them."""

    @abc.abstractmethod
    def _encode_words(self, words: list[str]) -> list[list[int]]:
        """Returns the ids of each word, as at the start of a line or after a space."""


class BytePairSubwords(Subwords):
    """SentencePiece BPE with byte fallback: no character is unknown."""

    kind = BPE

    def __init__(self, path: str, cached_words: int = _CACHED_WORDS) -> None:
        """Loads a SentencePiece model file."""
        super().__init__(cached_words)
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=storage.read(path))
        self.vocabulary_size = self._processor.get_piece_size()

    @functools.cached_property
    def _packed_pieces(self) -> dict[str, bytes]:
        pieces = self.pieces(range(self.vocabulary_size))
        return {piece: pack_ids([id]) for id, piece in enumerate(pieces)}

    @functools.cached_property
    def _ranks(self) -> dict[str, float]:
        """Rank of each piece that two neighbours merge to: its negated SentencePiece score."""
        processor = self._processor
        special = processor.is_control, processor.is_byte, processor.is_unknown
        return {
            piece: -processor.get_score(id)
            for id, piece in enumerate(self._packed_pieces)
            if len(piece) > 1 and not any(is_special(id) for is_special in special)
        }

    @functools.cached_property
    def _tags(self) -> list[str]:
        """The pieces of tags, which come after the special ids: none is ever split."""

        def is_whole(piece: str) -> bool:
            word = piece.removeprefix(_SPACE)
            without_merges = self._processor.encode(word, enable_sampling=True, alpha=1.0)
            return len(piece) > 1 and self._processor.id_to_piece(without_merges) == [piece]

        return list(itertools.takewhile(is_whole, list(self._packed_pieces)[UNKNOWN_ID + 1 :]))

    def decode(self, ids_batch: Sequence[Sequence[int]]) -> list[str]:
        """Returns the text of each sentence."""
        return [self._processor.decode([int(id) for id in ids]) for ids in ids_batch]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Returns the subwords of a sentence, such as "▁run" and "ning"."""
        return self._processor.id_to_piece([int(id) for id in ids])

    def sample_packed(self, lines: Sequence[str], dropout: float, seed: int) -> list[bytes]:
        """Returns the packed ids of normalized lines, with merges skipped at random."""
        generator, ids = random.Random(seed), self._packed_pieces

        def pack_word(word: str) -> bytes:
            marked = f"{_SPACE}{word}"
            tag = max((t for t in self._tags if marked.startswith(t)), key=len, default="")
            rest = marked.removeprefix(tag)
            pieces = bpe_dropout.segment(rest, self._ranks, dropout, generator) if rest else ()
            packed = (ids.get(piece) or self._pack_bytes(piece) for piece in pieces)
            return b"".join([ids[tag] if tag else b"", *packed])

        return [b"".join(map(pack_word, line.split(" "))) if line else b"" for line in lines]

    def _pack_bytes(self, character: str) -> bytes:
        """Returns the packed ids of a character's bytes, for a character without a piece."""
        return b"".join(self._packed_pieces[f"<0x{byte:02X}>"] for byte in character.encode())

    def _encode_words(self, words: list[str]) -> list[list[int]]:
        return self._processor.encode(words, num_threads=1)


class WordpieceSubwords(Subwords):
    """TensorFlow Text wordpiece; a word with a character outside the vocabulary is unknown."""

    kind = WORDPIECE

    def __init__(self, path: str, cached_words: int = _CACHED_WORDS) -> None:
        """Loads a vocabulary file with one piece per line."""
        super().__init__(cached_words)
        self._pieces = read_pieces(path)
        self._encoder = wordpiece.encoder(self._pieces)
        self.vocabulary_size = len(self._pieces)

    def decode(self, ids_batch: Sequence[Sequence[int]]) -> list[str]:
        """Returns the text of each sentence."""
        return [wordpiece.join(self._pieces[id] for id in ids if id > END_ID) for ids in ids_batch]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Returns the subwords of a sentence, such as "▁run" and "##ning"."""
        return [self._pieces[id] for id in ids]

    def _encode_words(self, words: list[str]) -> list[list[int]]:
        return self._encoder(words)


class Symbols(Subwords):
    """Symbols of trees, each a piece; a tag outside the vocabulary is the unknown tag."""

    kind = SYMBOLS

    def __init__(self, path: str, cached_words: int = _CACHED_WORDS) -> None:
        """Loads a vocabulary file with one symbol per line."""
        super().__init__(cached_words)
        self._pieces = read_pieces(path)
        self._ids = {piece: id for id, piece in enumerate(self._pieces) if id > UNKNOWN_ID}
        self.vocabulary_size = len(self._pieces)

    def decode(self, ids_batch: Sequence[Sequence[int]]) -> list[str]:
        """Returns the symbols of each tree with spaces between them."""
        return [" ".join(self._pieces[id] for id in ids if id > END_ID) for ids in ids_batch]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Returns the symbols, such as "(NP" and "NN"."""
        return [self._pieces[id] for id in ids]

    def sample_packed(self, lines: Sequence[str], dropout: float, seed: int) -> list[bytes]:
        """Returns the packed ids of symbols, which have no merges to skip."""
        return self.encode_packed(lines)

    def _encode_words(self, words: list[str]) -> list[list[int]]:
        return [[self._ids.get(word, UNKNOWN_ID)] for word in words]


_CLASSES: dict[str, Callable[[str], Subwords]] = {
    BPE: BytePairSubwords,
    WORDPIECE: WordpieceSubwords,
    SYMBOLS: Symbols,
}


def load_subwords(path: str | Path) -> Subwords:
    """Returns the subwords in a file named by `file_names`."""
    return _CLASSES[kind_of(path)](str(path))


def read_pieces(path: str | Path) -> list[str]:
    """Returns the pieces in a file with one per line."""
    return storage.read(path).decode().removesuffix("\n").split("\n")


def kind_of(path: str | Path) -> str:
    """Returns the kind of subwords in a file named by `file_names`."""
    kinds = {Path(name).suffix: kind for kind, name in FILE_NAMES.items()}
    return kinds.get(Path(path).suffix, BPE)


def file_names(kind: str, *, shared: bool) -> dict[str, str]:
    """Returns the name of each side's file in a dataset directory; one for both if shared.

    Example: "bpe" has "subwords.source.model" and "subwords.target.model" if not shared.
    """
    stem, suffix = FILE_NAMES[kind].split(".")
    return {side: FILE_NAMES[kind] if shared else f"{stem}.{side}.{suffix}" for side in SIDES}


ALL_FILE_NAMES = frozenset(
    name
    for kind in FILE_NAMES
    for shared in (True, False)
    for name in file_names(kind, shared=shared).values()
)


@functools.cache
def shared_subwords(path: str, sha256: str) -> Subwords:
    """Returns the subwords in a file, loaded once per worker process.

    A worker may outlive a run: `sha256` distinguishes the file from an earlier one at its path.
    """
    return load_subwords(path)
