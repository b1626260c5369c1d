"""Test sets: source and references from the dataset, from named sets, from sacreBLEU, or files."""

import shlex
from typing import NamedTuple

from pipeline.common import storage
from pipeline.common.errors import UserError
from pipeline.corpora.catalog import evaluation_part, fetch_part
from pipeline.corpora.inputs import Text
from pipeline.dataset.schema import Dataset
from trainer.data.raw_text import read_text
from trainer.evaluation.result import read_translations, translations_path

_SACREBLEU = "sacrebleu:"


class EvaluationSet(NamedTuple):
    """Raw sentences to translate, their references, and a baseline's translations if compared.

    references: one list or several, each with a reference for every sentence.
    """

    source: list[str]
    references: list[list[str]]
    baseline: list[str] | None = None


class GivenFiles(NamedTuple):
    """Files that a user gives of a test set; see `EvaluationConfig`."""

    source: str | None
    references: tuple[str, ...]


def read_test_set(
    name: str, dataset: Dataset, given: GivenFiles, *, cache_dir: str
) -> EvaluationSet:
    """Reads a test set; downloads a named one that is not in a cache.

    Args:
        name: dev or test of the dataset, a named set, or "sacrebleu:" and sacreBLEU's name.
        dataset: its languages, and its dev and test.
        given: a source replaces what the name means; references are further ones.
        cache_dir: folder for downloads of named sets; sacreBLEU has its own.

    Raises:
        UserError: there is no such set, or a file has another number of lines.
    """
    if given.source:
        source, references = _read_file(given.source), []
    elif name in ("dev", "test"):
        source, reference = read_text(dataset, name)
        references = [reference]
    elif name.startswith(_SACREBLEU):
        source, references = _read_sacrebleu(name, dataset)
    else:
        source, reference = _read_named(name, dataset, cache_dir)
        references = [reference]
    for path in given.references:
        references.append(_read_file(path))
        if len(references[-1]) != len(source):
            raise UserError(
                f"--reference_files: {path} has {len(references[-1])} lines, expected "
                f"{len(source)}, a reference for each sentence of {given.source or name}"
            )
    return EvaluationSet(source, references)


def read_baseline(run_dir: str, name: str, source: list[str]) -> list[str]:
    """Returns the translations of a test set that the evaluation of another run wrote.

    Raises:
        UserError: there are none, or they are of other sentences.
    """
    path = translations_path(run_dir, name)
    if not path.exists():
        raise UserError(
            f"no {path}: evaluate the baseline first with "
            f"python -m trainer.evaluate --run_dir={shlex.quote(run_dir)} --split={name}"
        )
    rows = read_translations(path)
    if [row.source for row in rows] != source:
        raise UserError(
            f"{path} is of another test set than {name} of this dataset: evaluate again"
        )
    return [row.translation for row in rows]


def _read_named(name: str, dataset: Dataset, cache_dir: str) -> tuple[list[str], list[str]]:
    languages = dataset.source_language, dataset.target_language
    try:
        part = evaluation_part(name, *languages)
    except UserError as error:
        raise UserError(
            f"--split: {error}, or dev or test of the dataset, or sacrebleu:NAME"
        ) from error
    texts = fetch_part(part, *languages, cache_dir)
    return _read_lines(texts.source), _read_lines(texts.target)


def _read_sacrebleu(name: str, dataset: Dataset) -> tuple[list[str], list[list[str]]]:
    """Reads a set of sacreBLEU's; it downloads what its own cache lacks."""
    from sacrebleu.utils import (
        SACREBLEU_DIR,
        get_available_testsets,
        get_langpairs_for_testset,
        get_reference_files,
        get_source_file,
    )

    test_set = name.removeprefix(_SACREBLEU)
    languages = f"{dataset.source_language}-{dataset.target_language}"
    if test_set not in get_available_testsets():
        raise UserError(
            f"received --split={name}: expected a name that sacrebleu --list prints, such as "
            "sacrebleu:wmt14/full"
        )
    if languages not in (offered := get_langpairs_for_testset(test_set)):
        raise UserError(
            f"received --split={name}, which has no {languages}, the languages of the dataset, but "
            f"{', '.join(sorted(offered))}"
        )
    try:
        source = get_source_file(test_set, languages)
        references = get_reference_files(test_set, languages)
    except (OSError, SystemExit) as error:
        raise UserError(
            f"{name} is not in sacreBLEU's cache, {SACREBLEU_DIR}, and cannot be downloaded "
            f"({error}): put it there, or give --source_file and --reference_files"
        ) from error
    return _read_file(source), [_read_file(path) for path in references]


def _read_file(path: str) -> list[str]:
    """Reads lines; the last one may lack its end."""
    try:
        text = storage.read(path).decode()
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 ({error}): convert it, for example with iconv"
        ) from error
    except FileNotFoundError as error:
        raise UserError(f"no file {path}: expected UTF-8 text, one sentence per line") from error
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]


def _read_lines(text: Text) -> list[str]:
    return [line.decode().rstrip("\r\n") for line in text.read()]
