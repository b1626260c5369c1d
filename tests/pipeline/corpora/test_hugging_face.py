import sys
import types
from typing import Any

import pytest

from pipeline.common.errors import UserError
from pipeline.corpora.hugging_face import find_tables
from pipeline.corpora.readers import Columns

COLUMNS = Columns(("en", "fr"), ("English words/sentences", "French words/sentences"))
ROWS = [{"English words/sentences": "Hi.", "French words/sentences": "Salut!"}]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Replaces the `datasets` library; returns its recorded calls."""
    asked: list[tuple[Any, ...]] = []

    def load_dataset(path: str, configuration: str | None, split: str) -> list[dict[str, str]]:
        asked.append((path, configuration, split))
        return ROWS

    def split_names(path: str, configuration: str | None) -> list[str]:
        if path == "no/body":
            raise FileNotFoundError("Dataset 'no/body' doesn't exist\non the hub")
        return ["validation"] if path == "only/dev" else ["train", "validation"]

    library: Any = types.ModuleType("datasets")
    library.load_dataset, library.get_dataset_split_names = load_dataset, split_names
    monkeypatch.setitem(sys.modules, "datasets", library)
    return asked


def test_a_split_is_a_table_of_its_columns(hub: list[Any]) -> None:
    (table,) = find_tables("hf:me/words", "train", COLUMNS)
    assert list(table.read()) == [("Hi.", "Salut!")]
    assert table.name == "hf:me/words train"
    find_tables("hf:wmt/wmt14:fr-en", "dev", COLUMNS)
    assert hub == [("me/words", None, "train"), ("wmt/wmt14", "fr-en", "validation")]


def test_a_missing_column_is_explained(hub: list[Any]) -> None:
    (table,) = find_tables("hf:me/words", "train", Columns(("en", "fr")))
    with pytest.raises(UserError, match=r"hf:me/words train, row 1 has no text at en or"):
        list(table.read())


def test_only_a_missing_training_split_is_an_error(hub: list[Any]) -> None:
    assert find_tables("hf:me/words", "test", COLUMNS) == []
    with pytest.raises(UserError, match="hf:only/dev has no split called train: it has validation"):
        find_tables("hf:only/dev", "train", COLUMNS)


def test_an_error_of_the_hub_is_one_line(hub: list[Any]) -> None:
    with pytest.raises(UserError, match=r"cannot load hf:no/body: FileNotFoundError: .*exist$"):
        find_tables("hf:no/body", "train", COLUMNS)


def test_without_the_library_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"pip install datasets"):
        find_tables("hf:me/words", "train", COLUMNS)
