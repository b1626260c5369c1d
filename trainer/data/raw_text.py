"""The raw text of dev and test: sources to translate, and their references; of a parser, trees."""

from collections.abc import Sequence

from pipeline.dataset.schema import Dataset, read_lines
from pipeline.dataset.trees import join


def read_text(dataset: Dataset, split: str, *, sentences: int = 0) -> tuple[list[str], list[str]]:
    """Returns the raw source and target lines of a split: the first `sentences`, or all for 0.

    The targets of a dataset of trees are bracketed trees over the words of the sources.
    """
    part = dataset.splits[split]
    source = read_lines(dataset.path(part.source_text or ""))
    target = read_lines(dataset.path(part.target_text or ""))
    source, target = source[: sentences or None], target[: sentences or None]
    if dataset.has_trees:
        pairs = zip(target, source, strict=True)
        target = [join(symbols, words).brackets() for symbols, words in pairs]
    return source, target


def tag_sentences(tag: str, sentences: Sequence[str]) -> list[str]:
    """Returns sentences with a tag before each, as in training; blank ones stay blank.

    Example:
        >>> tag_sentences("<2de>", ["A dog.", ""])
        ['<2de> A dog.', '']
    """
    if not tag:
        return list(sentences)
    return [f"{tag} {line}" if line.strip(" \t\n\r\f\v") else line for line in sentences]
