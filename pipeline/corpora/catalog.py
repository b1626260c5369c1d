"""Catalog of the named data sets, and their download into the cache."""

from collections.abc import Mapping, Sequence

from pipeline.common.errors import UserError
from pipeline.corpora import multi30k, wmt
from pipeline.corpora.archives import extract_members
from pipeline.corpora.download import fetch, members_folder
from pipeline.corpora.inputs import AlignedTexts, Text
from pipeline.corpora.named_dataset import NamedDataset, Part, WebFile

CACHE_DIR = "data/downloads"  # shared by preprocessing and evaluation
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


def fetch_part(part: Part, source: str, target: str, cache_dir: str) -> AlignedTexts:
    """Returns a part as local text, after downloading and unpacking what the cache lacks.

    Raises:
        UserError: a download failed, has a wrong checksum, or lacks a file.
    """
    files = (part.files[source].in_role("src"), part.files[target].in_role("ref"))
    texts = [
        # The data card names the origin, which is the same on every machine.
        Text(file.origin, path=path)
        for file, path in zip(files, _fetch_files(files, cache_dir), strict=True)
    ]
    return AlignedTexts(texts[0], texts[1], expected_pairs=part.pairs)


def _fetch_files(files: tuple[WebFile, WebFile], cache_dir: str) -> list[str]:
    """Returns the local path of each file; files of one archive are unpacked in one pass."""
    downloads = dict.fromkeys(file.download for file in files)
    paths: dict[WebFile, str] = {}
    for download in downloads:
        path = fetch(download, cache_dir)
        members = {file.member: file for file in files if file.download == download and file.member}
        copies = extract_members(path, list(members), members_folder(path))
        paths.update({file: path for file in files if file.download == download})
        paths.update(zip(members.values(), copies, strict=True))
    return [paths[file] for file in files]
