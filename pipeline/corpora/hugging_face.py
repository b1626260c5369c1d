"""Data sets of the Hugging Face hub, read by the optional library `datasets`."""

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.common.errors import UserError
from pipeline.corpora.inputs import PairTable
from pipeline.corpora.readers import Columns
from pipeline.dataset.schema import Pair

PREFIX = "hf:"
_SPLITS = {"train": ("train",), "dev": ("validation", "dev"), "test": ("test",)}


def find_tables(name: str, split: str, columns: Columns) -> Sequence[PairTable]:
    """Returns a data set's split as an input; an empty list if it has no such split.

    Args:
        name: `hf:OWNER/NAME` or `hf:OWNER/NAME:CONFIGURATION`.
        split: train, dev or test.
        columns: columns of the two sides.

    Raises:
        UserError: the library is not installed, the data set cannot be loaded, or it has no split
          called train.
    """
    path, _, configuration = name.removeprefix(PREFIX).partition(":")
    library = _library()
    hub_splits = _ask(library.get_dataset_split_names, name, path, configuration or None)
    hub_split = next((alias for alias in _SPLITS[split] if alias in hub_splits), None)
    if hub_split is None:
        if split == "train":
            raise UserError(f"{name} has no split called train: it has {', '.join(hub_splits)}")
        return []
    rows = _ask(library.load_dataset, name, path, configuration or None, split=hub_split)
    label = f"{name} {hub_split}"
    return [PairTable(label, lambda: _pairs(rows, columns, label))]


def _pairs(rows: Any, columns: Columns, label: str) -> Iterator[Pair]:
    for number, row in enumerate(rows, 1):
        yield columns.look_up(row, f"{label}, row {number}")


def _library() -> Any:
    try:
        return importlib.import_module("datasets")
    except ImportError as error:
        raise UserError(
            "hf: data sets require the library `datasets`: pip install datasets"
        ) from error


def _ask(function: Any, name: str, *arguments: Any, **options: Any) -> Any:
    """Calls the library; any error is reported as a problem of the name or the network."""
    try:
        return function(*arguments, **options)
    except Exception as error:  # its errors have no common class
        summary = str(error).split("\n", 1)[0]
        raise UserError(f"cannot load {name}: {type(error).__name__}: {summary}") from error
