"""The workload of all contenders: model sizes, and Multi30k in the same subwords."""

import argparse
import dataclasses
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.cleaning import normalization
from pipeline.dataset.schema import END_ID, UNKNOWN_ID, load_dataset
from pipeline.subwords.encoding import load_subwords
from tests.benchmarks import corpora

VOCABULARY_SIZE = 10_000
TOKENS_PER_BATCH = 4096  # padded, on the target side
SENTENCES_PER_BATCH = 64  # of a translator, as `trainer.inference.batching` has it
DROPOUT = LABEL_SMOOTHING = 0.1
THREADS = 2

_FILES = {"train": "train", "dev": "val", "test": "test_2016_flickr"}
_LANGUAGES = {"source": "en", "target": "de"}


@dataclasses.dataclass(frozen=True)
class Size:
    """An architecture, and the number of updates between reports."""

    num_layers: int
    model_dim: int
    feed_forward_dim: int
    num_heads: int
    updates_per_report: int

    def architecture(self) -> dict[str, Any]:
        """Returns the arguments of `TransformerConfig`."""
        values = dataclasses.asdict(self)
        del values["updates_per_report"]
        return values


SIZES = {"tiny": Size(4, 128, 256, 4, 20), "small": Size(3, 512, 1024, 8, 4)}


@dataclasses.dataclass(frozen=True)
class Workload:
    """Multi30k English–German: our dataset, and its subwords as text for other systems."""

    dataset: Path
    texts: Path

    @property
    def vocabulary(self) -> Path:
        """The subwords except the special ones, one per line."""
        return self.texts / "vocabulary.txt"

    def pieces(self, split: str, side: str) -> Path:
        """One sentence per line, its subwords separated by spaces."""
        return self.texts / f"{split}.{side}"

    def test_sentences(self, side: str) -> list[str]:
        """The 1,000 sentences of the test set: English (source) or German (target)."""
        return corpora.lines(_raw("test", side), "utf-8")


def some_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Returns an argparse type: some of these names, comma-separated, or none."""
    known = list(names)

    def parse(value: str) -> list[str]:
        chosen = value.split(",") if value else []
        if unknown := set(chosen).difference(known):
            raise argparse.ArgumentTypeError(f"expected of {known}, received {unknown}")
        return chosen

    return parse


def prepare(work: Path) -> Workload:
    """Makes the dataset with our pipeline, and the texts from its subwords."""
    workload = Workload(work / "multi30k", work / "pieces")
    preprocess(workload.dataset, {"vocabulary_size": VOCABULARY_SIZE})
    _write_texts(workload)
    return workload


def preprocess(directory: Path, flags: Mapping[str, object]) -> None:
    """Makes a dataset of Multi30k English–German, unless it exists."""
    files = {
        f"{'' if split == 'train' else f'{split}_'}{side}_files": _raw(split, side)
        for split in _FILES
        for side in _LANGUAGES
    }
    values = {"output_dir": directory, **files, **flags}
    command = [sys.executable, "-m", "pipeline.preprocess", "--runner=DirectRunner"]
    subprocess.run([*command, *as_flags(values)], check=True, stdout=sys.stderr)


def as_flags(values: Mapping[str, object]) -> list[str]:
    """Returns the flags `--name=value`."""
    return list(itertools.starmap("--{}={}".format, values.items()))


def _write_texts(workload: Workload) -> None:
    """Writes pieces and vocabulary; sources end in the end symbol, as in our dataset."""
    workload.texts.mkdir(exist_ok=True)
    dataset = load_dataset(workload.dataset)
    subwords = load_subwords(dataset.path(dataset.vocabularies["source"].path))
    for split in _FILES:
        for side in _LANGUAGES:
            lines = [
                normalization.normalize(line) for line in corpora.lines(_raw(split, side), "utf-8")
            ]
            end = [END_ID] if side == "source" else []
            pieces = [subwords.pieces([*ids, *end]) for ids in subwords.encode(lines)]
            _write_lines(workload.pieces(split, side), map(" ".join, pieces))
    ids = range(UNKNOWN_ID + 1, subwords.vocabulary_size)
    _write_lines(workload.vocabulary, subwords.pieces(ids))


def _raw(split: str, side: str) -> Path:
    path = corpora.DATA / "multi30k" / f"{_FILES[split]}.{_LANGUAGES[side]}.gz"
    if not path.exists():
        raise SystemExit(
            f"error: no {path}: benchmarks read Multi30k's train, val and test_2016_flickr, .en.gz "
            "and .de.gz, in that folder beside the repository"
        )
    return path


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))
