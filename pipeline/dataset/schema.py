"""Schema of a dataset directory: the contract between the pipeline and the trainer.

A dataset directory holds `dataset.json` (the manifest and data card: the class `Dataset`), the
subword models, TFRecord shards by split and bucket (shape of rows), and the raw text of dev and
test. The file `COMPLETED`, written last, holds the SHA-256 of `dataset.json`. Readers refuse a
directory without it, and find shards by the manifest, never by a glob.
"""

import dataclasses
import hashlib
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.common.storage import write_atomically
from pipeline.dataset.tfrecord import (
    encode_example,
    frame_record,
    pack_ids,
    parse_example,
    read_records,
)
from pipeline.dataset.trees import TREES

__all__ = ["encode_example", "frame_record", "pack_ids", "parse_example", "read_records"]
__all__ += ["SIDES", "SPLITS", "PADDING_ID", "END_ID", "UNKNOWN_ID"]
__all__ += ["Pair", "Lengths", "Shard", "Split", "TextFile", "Corpus", "Vocabulary", "Dataset"]
__all__ += ["load_dataset", "write_manifest", "mark_completed", "read_lines"]
__all__ += ["split_row", "bucket_name"]

PADDING_ID = 0  # also the decoder's first input
END_ID = 1
UNKNOWN_ID = 2

Pair = tuple[str, str]  # text of source and target
Lengths = tuple[int, int]  # tokens of source and target, including end symbols

FORMAT_VERSION = 2
SPLITS = ("train", "dev", "test")
SIDES = ("source", "target")
MANIFEST = "dataset.json"
COMPLETED = "COMPLETED"
_COMMAND = "python -m pipeline.preprocess --output_dir="


@dataclasses.dataclass(frozen=True)
class Shard:
    """One TFRecord file: rows of one bucket. `path` is relative to the dataset directory.

    A row holds one or more pairs end to end; the end symbol closes each sentence.
    """

    path: str
    shape: Lengths  # maximum source and target tokens of a row
    rows: int
    pairs: int
    source_tokens: int  # including end symbols
    target_tokens: int
    bytes: int
    sha256: str

    @property
    def positions(self) -> int:
        """Returns the positions of all rows, on both sides."""
        return self.rows * sum(self.shape)

    @property
    def padding(self) -> int:
        """Returns the positions without a token."""
        return self.positions - self.source_tokens - self.target_tokens

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> "Shard":
        """Returns the shard with the values of `dataclasses.asdict`, also after JSON."""
        return cls(**{**values, "shape": tuple(values["shape"])})


@dataclasses.dataclass(frozen=True)
class TextFile:
    """A Parquet file of the text of pairs. `path` is relative to the dataset directory."""

    path: str
    pairs: int
    bytes: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Split:
    """Train, dev or test. The raw text (dev and test only) keeps every line of the corpus.

    `clean_text` holds the pairs of the shards as text, if that was asked for.
    """

    name: str
    pairs: int  # in the shards
    shards: tuple[Shard, ...]
    source_text: str | None = None  # paths relative to the dataset directory
    target_text: str | None = None
    source_sha256: str | None = None  # of these texts
    target_sha256: str | None = None
    clean_text: tuple[TextFile, ...] = ()


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Identity of one input, for provenance."""

    split: str
    name: str  # names of the source and target files
    sha256: str  # of the text before cleaning: source then target, or pair by pair
    lines: int


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Subwords of one side, or of both. `path` is relative to the dataset directory."""

    kind: str  # "bpe" or "wordpiece"
    path: str
    sha256: str
    size: int  # number of subwords, including special ones; ids are below


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A complete dataset directory: its files, and their provenance."""

    name: str
    source_language: str
    target_language: str
    vocabularies: dict[str, Vocabulary]  # by side; equal if the sides share one
    bucket_shapes: tuple[Lengths, ...]  # source and target tokens of a row, ascending
    splits: dict[str, Split]
    corpora: tuple[Corpus, ...]
    counts: dict[str, dict[str, int]]  # by split: pairs read, kept, dropped by each rule
    padding_efficiency: dict[str, float]  # share of real tokens, by bucket and "total"
    config: dict[str, Any]  # every flag that changes the content
    # By split: number of sides that Unicode NFC changed.
    recomposed: dict[str, int] = dataclasses.field(default_factory=dict)
    fingerprint: str = ""  # identifies the content, independent of machine and path
    format_version: int = FORMAT_VERSION
    directory: str = dataclasses.field(default="", compare=False)  # a folder or a URL

    def path(self, relative: str) -> str:
        """Returns the address of a file of this dataset."""
        return f"{self.directory}/{relative}"

    @property
    def has_trees(self) -> bool:
        """Returns whether the targets are the symbols of trees."""
        return self.target_language == TREES

    @property
    def shares_vocabulary(self) -> bool:
        """Returns whether both sides have one vocabulary."""
        return self.vocabularies["source"] == self.vocabularies["target"]

    @property
    def source_tag(self) -> str:
        """Returns the tag before each source in the shards; empty without one."""
        return self.config.get("source_tag") or ""

    def to_json(self) -> str:
        """Returns the text of `dataset.json`: everything except the directory."""
        values = dataclasses.asdict(self)
        del values["directory"]
        for split in values["splits"].values():
            if not split["clean_text"]:  # only where it was asked for
                del split["clean_text"]
        return json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str, directory: str) -> "Dataset":
        """Returns the dataset that `to_json` wrote."""
        values = json.loads(text)
        values["splits"] = {name: _split(split) for name, split in values["splits"].items()}
        values["vocabularies"] = {
            side: Vocabulary(**vocabulary) for side, vocabulary in values["vocabularies"].items()
        }
        values["corpora"] = tuple(Corpus(**corpus) for corpus in values["corpora"])
        values["bucket_shapes"] = tuple(map(tuple, values["bucket_shapes"]))
        return cls(**values, directory=directory)


def load_dataset(directory: str | Path) -> Dataset:
    """Returns the dataset in a directory, after checking that it is complete.

    Raises:
        UserError: the directory is missing or unfinished, has another format version, lacks a
          shard, or its subwords or manifest are damaged.
    """
    directory = str(directory)
    if not storage.is_file(f"{directory}/{COMPLETED}"):
        raise _incomplete(directory)
    manifest = storage.read(f"{directory}/{MANIFEST}")
    completed = storage.read(f"{directory}/{COMPLETED}").strip()
    if completed != hashlib.sha256(manifest).hexdigest().encode():
        raise UserError(f"{directory}/{MANIFEST} was changed after completion: restore it")
    text = manifest.decode("utf-8")
    version = json.loads(text).get("format_version")
    if version != FORMAT_VERSION:
        raise UserError(
            f"the dataset at {directory} has format version {version}, expected {FORMAT_VERSION}: "
            f"make it again with {_COMMAND} and a new directory"
        )
    dataset = Dataset.from_json(text, directory)
    _check_files(dataset)
    return dataset


def write_manifest(dataset: Dataset) -> None:
    """Writes `dataset.json` with its fingerprint; readers still wait for `COMPLETED`."""
    dataset = dataclasses.replace(dataset, fingerprint=_fingerprint(dataset))
    write_atomically(dataset.path(MANIFEST), dataset.to_json().encode())


def mark_completed(directory: str | Path) -> None:
    """Writes `COMPLETED`, after which `load_dataset` accepts the directory."""
    digest = hashlib.sha256(storage.read(f"{directory}/{MANIFEST}")).hexdigest()
    write_atomically(f"{directory}/{COMPLETED}", f"{digest}\n".encode())


def split_row(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Returns the pairs of a row, including end symbols.

    Example: `split_row([5, 6, 1, 7, 1], [8, 1, 9, 1])` gives `[([5, 6, 1], [8, 1]), ([7, 1],
    [9, 1])]`.
    """
    return list(zip(_split_sentences(source), _split_sentences(target), strict=True))


def bucket_name(shape: Lengths) -> str:
    """Returns a bucket's name in shards and tables. Example: `020x024`."""
    return "x".join(f"{length:03d}" for length in shape)


def read_lines(path: str | Path) -> list[str]:
    r"""Returns the lines of a text file, split only at "\n" (U+0085 and "\r" are text)."""
    text = storage.read(path).decode("utf-8")
    return text.removesuffix("\n").split("\n") if text else []


def _split_sentences(ids: Sequence[int]) -> list[list[int]]:
    ends = [position + 1 for position, id in enumerate(ids) if id == END_ID]
    return [list(ids[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def _split(values: dict[str, Any]) -> Split:
    shards = tuple(map(Shard.from_values, values.pop("shards")))
    clean_text = tuple(TextFile(**file) for file in values.pop("clean_text", ()))
    return Split(**values, shards=shards, clean_text=clean_text)


def _incomplete(directory: str) -> UserError:
    command = f"{_COMMAND}{shlex.quote(directory)}"
    if not storage.entries(directory):
        return UserError(
            f"no dataset at {directory}: make it with {command} and a corpus, "
            "--dataset=NAME or --source_files=… --target_files=… (neither: the built-in one)"
        )
    return UserError(
        f"the dataset at {directory} has no {COMPLETED}: its preprocessing was interrupted or "
        f"is still running; run {command} again, with the same flags, to finish it"
    )


def _check_files(dataset: Dataset) -> None:
    """Raises UserError for damage that is detectable without reading the shards."""
    sizes = storage.sizes(dataset.directory)
    for vocabulary in dataset.vocabularies.values():
        subwords = dataset.path(vocabulary.path)
        problem = "is missing" if vocabulary.path not in sizes else None
        if not problem and hashlib.sha256(storage.read(subwords)).hexdigest() != vocabulary.sha256:
            problem = "is damaged, its checksum does not match"
        if problem:
            raise UserError(
                f"{subwords} {problem}: delete {dataset.directory} and preprocess again"
            )
    for shard in (shard for split in dataset.splits.values() for shard in split.shards):
        size = sizes.get(shard.path)
        if size != shard.bytes:
            problem = "is missing" if size is None else f"has {size} bytes"
            raise UserError(
                f"{dataset.path(shard.path)} {problem}, expected {shard.bytes} bytes: delete "
                f"{dataset.directory} and preprocess again"
            )


def _fingerprint(dataset: Dataset) -> str:
    """Returns a hash of all that the trainer reads: languages, subwords, buckets, shards."""
    splits = dataset.splits.values()
    shards = [(shard.path, shard.sha256) for split in splits for shard in split.shards]
    identity = [dataset.format_version, dataset.source_language, dataset.target_language]
    vocabularies = [dataset.vocabularies[side] for side in SIDES]
    identity += [[(entry.kind, entry.path, entry.sha256) for entry in vocabularies]]
    identity += [dataset.bucket_shapes, shards]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()
