import gzip
from pathlib import Path

import pytest

from pipeline.cleaning.normalization import normalize
from pipeline.common.errors import UserError
from pipeline.corpora.brackets import read_trees
from pipeline.corpora.treebank import TreebankConfig, treebank_tables
from pipeline.dataset.trees import join


def test_a_pattern_is_one_input_of_all_its_files_in_order(tmp_path: Path) -> None:
    for name, word in (("b/1.mrg", "third"), ("a/2.mrg", "second"), ("a/1.mrg", "first")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"( (NP (JJ {word})) )\n")
    pattern = f"{tmp_path}/[ab]/*.mrg"
    (table,) = treebank_tables([pattern], "utf-8")
    assert table.name == pattern
    assert list(table.read()) == [(word, "(NP JJ )NP") for word in ("first", "second", "third")]


def test_files_are_read_in_their_encoding_and_compression(tmp_path: Path) -> None:
    path = tmp_path / "[x].mrg.gz"  # a name, though it looks like a pattern
    path.write_bytes(gzip.compress("(NP (NN Öl))".encode("latin-1")))
    (table,) = treebank_tables([str(path)], "latin-1")
    assert list(table.read()) == [("Öl", "(NP NN )NP")]


def test_a_pattern_without_files_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no file matches .*\*\.mrg: expected"):
        treebank_tables([f"{tmp_path}/*.mrg"], "utf-8")


def test_trees_to_evaluate_on_require_trees_to_train_on() -> None:
    with pytest.raises(ValueError, match="received --dev_trees=d: expected --trees as well"):
        TreebankConfig(dev_trees=("d",))


def test_every_tree_of_craft_comes_back_from_its_pair(shared_data: Path) -> None:
    """Words and symbols, cleaned as text is, make the bracketed tree, and it the same pair."""
    files = [
        str(shared_data / "craft-trees" / f"craft-{split}.tree.gz") for split in ("train", "dev")
    ]
    pairs = [pair for table in treebank_tables(files, "utf-8") for pair in table.read()]
    assert len(pairs) == 18_951 + 2_780
    lines = [join(normalize(symbols), normalize(words)).brackets() for words, symbols in pairs]
    again = [(" ".join(tree.words), " ".join(tree.symbols)) for tree in read_trees(lines, "again")]
    assert again == [(normalize(words), symbols) for words, symbols in pairs]
    assert all(words for words, _ in pairs)
