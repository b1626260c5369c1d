"""Inputs of a split from the flags: the built-in corpus, named data sets, given files."""

from collections.abc import Sequence

from pipeline.config import PreprocessConfig
from pipeline.corpora import hugging_face
from pipeline.corpora.catalog import (
    check_space,
    evaluation_part,
    fetch_part,
    fetch_parts,
    find_dataset,
    training_parts,
)
from pipeline.corpora.inputs import Input, builtin_texts, file_texts, table_files
from pipeline.corpora.treebank import treebank_tables


def find_inputs(config: PreprocessConfig, split: str) -> Sequence[Input]:
    """Returns the inputs of a split, after downloading named data that the cache lacks.

    Given files are added to a named data set's training text, and replace its dev or test text.

    Raises:
        UserError: a name, a language or a download is wrong.
    """
    if config.is_builtin:
        return builtin_texts(split, config.languages.codes)
    files = _given_files(config, split)
    if split == "train":
        return [*_named_training(config), *files]
    return files or _named_evaluation(config, split)


def _given_files(config: PreprocessConfig, split: str) -> Sequence[Input]:
    prefix = "" if split == "train" else f"{split}_"
    sources, targets = (getattr(config, f"{prefix}{side}_files") for side in ("source", "target"))
    corpus = config.corpus
    columns = corpus.columns(*config.languages.codes)
    return [
        *file_texts(sources, targets, corpus.encodings),
        *table_files(corpus.tables(split), columns, corpus.encodings[0]),
        *treebank_tables(config.treebank.files(split), corpus.encodings[0]),
    ]


def _named_training(config: PreprocessConfig) -> Sequence[Input]:
    name = config.corpus.dataset
    if name is None:
        return []
    languages = config.languages.codes
    if name.startswith(hugging_face.PREFIX):
        return hugging_face.find_tables(name, "train", config.corpus.columns(*languages))
    parts, cache_dir = training_parts(name, *languages), config.corpus.cache_dir
    if not config.dry_run:
        check_space(name, languages, cache_dir=cache_dir, output_dir=config.output_dir)
    return fetch_parts(parts, *languages, cache_dir)


def _named_evaluation(config: PreprocessConfig, split: str) -> Sequence[Input]:
    corpus, languages = config.corpus, config.languages.codes
    name = corpus.dev_dataset if split == "dev" else corpus.test_dataset
    if name is None and corpus.dataset is not None:
        if corpus.dataset.startswith(hugging_face.PREFIX):
            return hugging_face.find_tables(corpus.dataset, split, corpus.columns(*languages))
        dataset = find_dataset(corpus.dataset)
        name = dataset.dev if split == "dev" else dataset.test
    if name is None:
        return []
    return [fetch_part(evaluation_part(name, *languages), *languages, corpus.cache_dir)]
