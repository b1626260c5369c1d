"""Catalog of the named data sets, and their download into the cache."""

from collections.abc import Mapping, Sequence

from absl import logging

from pipeline.common.errors import UserError
from pipeline.common.progress import format_bytes
from pipeline.corpora import multi30k, wmt
from pipeline.corpora.archives import extract_members
from pipeline.corpora.disk_space import bytes_in, require_space
from pipeline.corpora.download import (
    Download,
    DownloadError,
    fetch,
    members_folder,
    missing_bytes,
)
from pipeline.corpora.inputs import AlignedTexts, Text
from pipeline.corpora.named_dataset import NamedDataset, Part, WebFile

CACHE_DIR = "data/downloads"  # shared by preprocessing and evaluation
# Clean pairs, text of compressed inputs and shards, by the bytes of the text.
_OUTPUT_PER_TEXT = 2.0
DATASETS: Mapping[str, NamedDataset] = {**wmt.DATASETS, **multi30k.DATASETS}
EVALUATION_SETS: Mapping[str, Sequence[Part]] = {
    **wmt.EVALUATION_SETS,
    **multi30k.EVALUATION_SETS,
}


def training_parts(name: str, source: str, target: str) -> Sequence[Part]:
    """Returns the training parts of a data set.

    Raises:
        UserError: the data set does not exist, or is in other languages.
    """
    dataset = find_dataset(name)
    first, second = dataset.languages
    if {source, target} != {first, second}:
        raise UserError(
            f"--dataset={name} is in {first} and {second}: received --source_language={source} "
            f"--target_language={target}, expected --source_language={first} "
            f"--target_language={second}, or the other way round"
        )
    return dataset.train


def evaluation_part(name: str, source: str, target: str) -> Part:
    """Returns an evaluation set in these languages.

    Raises:
        UserError: the evaluation set does not exist, or lacks a language.
    """
    if name not in EVALUATION_SETS:
        known = ", ".join(EVALUATION_SETS)
        raise UserError(f"received evaluation set {name}: expected one of {known}")
    for part in EVALUATION_SETS[name]:
        if part.covers(source, target):
            return part
    known = "; ".join(" ".join(part.files) for part in EVALUATION_SETS[name])
    raise UserError(f"{name} is not in {source} and {target}: it has {known}")


def find_dataset(name: str) -> NamedDataset:
    """Returns a data set by its name.

    Raises:
        UserError: the data set does not exist.
    """
    if name not in DATASETS:
        known = ", ".join(DATASETS)
        raise UserError(f"received --dataset={name}: expected hf:OWNER/NAME or one of {known}")
    return DATASETS[name]


def check_space(name: str, languages: tuple[str, str], *, cache_dir: str, output_dir: str) -> None:
    """Checks that there is room for a data set: its downloads, their text, the finished dataset.

    Args:
        name: of the data set, whose text has a published size, or nothing is checked.
        languages: source and target.
        cache_dir: folder of all downloads.
        output_dir: where the dataset will be written, a folder or a URL.

    Raises:
        UserError: a disk has less free space.
    """
    dataset = find_dataset(name)
    missing = sum(_missing_bytes(part, *languages, cache_dir) for part in dataset.train)
    output = round(_OUTPUT_PER_TEXT * dataset.text_bytes) - bytes_in(output_dir)
    needs = {cache_dir: missing + dataset.text_bytes if missing else 0}
    needs[output_dir] = needs.get(output_dir, 0) + output
    if dataset.text_bytes:
        require_space(needs, f"--dataset={name}")


def fetch_parts(
    parts: Sequence[Part], source: str, target: str, cache_dir: str
) -> list[AlignedTexts]:
    """Returns parts as local text, after downloading and unpacking what the cache lacks.

    Raises:
        UserError: as `fetch_part`.
    """
    missing = [_missing_bytes(part, source, target, cache_dir) for part in parts]
    if sum(missing):
        logging.info("Download: %s of %d corpora", format_bytes(sum(missing)), len(parts))
    return [
        fetch_part(part, source, target, cache_dir, following=sum(missing[number:]))
        for number, part in enumerate(parts, 1)
    ]


def fetch_part(
    part: Part, source: str, target: str, cache_dir: str, *, following: int = 0
) -> AlignedTexts:
    """Returns a part as local text, after downloading and unpacking what the cache lacks.

    A mirror is used if the cache has its files already, or if the original cannot be downloaded.

    Args:
        part: what to fetch.
        source: source language.
        target: target language.
        cache_dir: folder of all downloads.
        following: bytes of later downloads, for the estimate of the time left.

    Raises:
        UserError: no copy can be downloaded, or one has a wrong checksum or lacks a file.
    """
    origin, *mirrors = (
        (files[source].in_role("src"), files[target].in_role("ref"))
        for files in (part.files, *part.mirrors)
    )
    errors = []
    for files in sorted((origin, *mirrors), key=lambda files: not _is_cached(files, cache_dir)):
        try:
            paths = _fetch_files(files, cache_dir, following)
        except DownloadError as error:
            errors.append(error)
        else:
            # The data card names the origin, which is the same on every machine.
            texts = [Text(file.origin, path=path) for file, path in zip(origin, paths, strict=True)]
            return AlignedTexts(texts[0], texts[1], expected_pairs=part.pairs)
    raise _join_errors(errors, part.hub)


_Sides = tuple[WebFile, WebFile]  # source and target


def _join_errors(errors: Sequence[DownloadError], hub: str | None) -> DownloadError:
    """Returns one error about a file and its mirrors, with everything that a user can do."""
    remedies = [error.remedy for error in errors]
    remedies += [f"give --dataset={hub}, the same text on the Hugging Face hub"] if hub else []
    return DownloadError(
        " or its mirror ".join(error.problem for error in errors), ", or ".join(remedies)
    )


def _missing_bytes(part: Part, source: str, target: str, cache_dir: str) -> int:
    """Returns what has to be downloaded, by the first copy whose sizes are published."""
    copies = [(files[source], files[target]) for files in (part.files, *part.mirrors)]
    if any(_is_cached(files, cache_dir) for files in copies):
        return 0
    sizes = (
        sum(missing_bytes(download, cache_dir) for download in _downloads(files))
        for files in copies
    )
    return next(filter(None, sizes), 0)


def _is_cached(files: _Sides, cache_dir: str) -> bool:
    return all(download.path(cache_dir).exists() for download in _downloads(files))


def _downloads(files: _Sides) -> list[Download]:
    """Returns the downloads that hold the files, each once."""
    return list(dict.fromkeys(file.download for file in files))


def _fetch_files(files: _Sides, cache_dir: str, following: int) -> list[str]:
    """Returns the local path of each file; files of one archive are unpacked in one pass."""
    paths: dict[WebFile, str] = {}
    for download in _downloads(files):
        path = fetch(download, cache_dir, following=following)
        members = {file.member: file for file in files if file.download == download and file.member}
        copies = extract_members(path, list(members), members_folder(path))
        paths.update({file: path for file in files if file.download == download})
        paths.update(zip(members.values(), copies, strict=True))
    return [paths[file] for file in files]
