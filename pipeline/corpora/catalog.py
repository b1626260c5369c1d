"""The named data sets: which there are, and from a name to local files."""

from collections.abc import Mapping, Sequence

from pipeline.common.errors import UserError
from pipeline.corpora import multi30k, wmt
from pipeline.corpora.archives import extract_members
from pipeline.corpora.download import fetch, members_folder
from pipeline.corpora.inputs import AlignedTexts, Text
from pipeline.corpora.named_dataset import NamedDataset, Part, WebFile

CACHE_DIR = "data/downloads"  # of preprocessing and of evaluation, so that they share downloads
DATASETS: Mapping[str, NamedDataset] = {**wmt.DATASETS, **multi30k.DATASETS}
EVALUATION_SETS: Mapping[str, Sequence[Part]] = {
    **wmt.EVALUATION_SETS,
    **multi30k.EVALUATION_SETS,
}


def training_parts(name: str, source: str, target: str) -> Sequence[Part]:
    """Returns the training parts of a data set, which must be in these languages.

    Raises:
        UserError: no such data set, or it is in other languages.
    """
    dataset = find_dataset(name)
    if {source, target} != set(dataset.languages):
        one, other = dataset.languages
        raise UserError(
            f"--dataset={name} is in {one} and {other}: received --source_language={source} "
            f"--target_language={target}, expected --source_language={one} "
            f"--target_language={other}, or the other way round"
        )
    return dataset.train


def evaluation_part(name: str, source: str, target: str) -> Part:
    """Returns the evaluation set of a name in these languages.

    Raises:
        UserError: no such evaluation set, or not in these languages.
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
    """Returns the data set of a name.

    Raises:
        UserError: no such data set.
    """
    if name not in DATASETS:
        known = ", ".join(DATASETS)
        raise UserError(f"received --dataset={name}: expected hf:OWNER/NAME or one of {known}")
    return DATASETS[name]


def fetch_part(part: Part, source: str, target: str, cache_dir: str) -> AlignedTexts:
    """Returns a part as local text, after downloading and unpacking what the cache lacks.

    Raises:
        UserError: a download failed, is not what was expected, or lacks a file.
    """
    files = (part.files[source], part.files[target])
    paths = _fetch_files(files, cache_dir)
    one, other = (
        # The data card names the origin, which is the same on every machine.
        Text(_origin(file, role), path=path)
        for file, role, path in zip(files, _ROLES, paths, strict=True)
    )
    return AlignedTexts(one, other, expected_pairs=part.pairs)


_ROLES = ("src", "ref")


def _fetch_files(files: tuple[WebFile, WebFile], cache_dir: str) -> list[str]:
    """Returns the local path of each side's file; one pass over an archive which both share."""
    needed = dict.fromkeys(file.download for file in files)
    downloads = {download: fetch(download, cache_dir) for download in needed}
    paths: dict[WebFile, str] = {}
    for download, path in downloads.items():
        members = {
            _member(file, role): file
            for file, role in zip(files, _ROLES, strict=True)
            if file.download == download and file.member
        }
        copies = extract_members(path, list(members), members_folder(path))
        paths.update(zip(members.values(), copies, strict=True))
    return [paths.get(file) or downloads[file.download] for file in files]


def _member(file: WebFile, role: str) -> str:
    return (file.member or "").replace("{role}", role)


def _origin(file: WebFile, role: str) -> str:
    url = file.download.urls[0]
    return f"{url}::{_member(file, role)}" if file.member else url
