import pytest

from pipeline.common.errors import UserError
from pipeline.corpora.brackets import read_trees
from pipeline.dataset.trees import Tree


def read(text: str) -> list[Tree]:
    return list(read_trees(text.splitlines(keepends=True), "x.mrg"))


def symbols(text: str) -> str:
    (tree,) = read(text)
    return " ".join(tree.symbols)


def test_a_tree_becomes_symbols_and_words() -> None:
    (tree,) = read("(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))")
    assert " ".join(tree.symbols) == "(S (NP DT NN )NP (VP VBZ )VP . )S"
    assert tree.words == ("The", "dog", "sleeps", ".")


def test_functions_and_indices_are_cut_but_not_brackets_that_are_words() -> None:
    text = "(S (NP-SBJ-1=2 (-LRB- -LRB-) (PRP$ its) (-RRB- -RRB-)) (VP=3 (VBZ-X a)) (: --) (`` ``))"
    assert symbols(text) == "(S (NP -LRB- PRP$ -RRB- )NP (VP VBZ )VP : `` )S"


def test_traces_leave_nothing_behind() -> None:
    text = "(S (NP (NP (-NONE- *T*-1)) (NP (-NONE- *))) (VP (VB go) (NP)) (X))"
    assert symbols(text) == "(S (VP VB )VP )S"


@pytest.mark.parametrize("outer", ["", "TOP", "ROOT", "S1"])
def test_an_outer_bracket_is_removed_unless_it_joins_several_trees(outer: str) -> None:
    assert symbols(f"({outer} (S (NN a)))") == "(S NN )S"
    assert symbols(f"({outer} (NN a))") == "NN"
    assert symbols(f"({outer} (S (NN a)) (-NONE- *))") == "(S NN )S"
    assert symbols(f"({outer} (S (NN a)) (. .))") == "(TOP (S NN )S . )TOP"
    assert symbols(f"({outer} (NN a) (NN b))") == "(TOP NN NN )TOP"


def test_trees_stand_on_any_lines_with_comments_between_them() -> None:
    text = (
        "*x*x* Copyright\n\n((S\n  (NN a)\r\n\t(# #)))  (S (NN b))\n# no tree (\n;; (\n(S (NN c))"
    )
    assert [tree.words for tree in read(text)] == [("a", "#"), ("b",), ("c",)]


def test_an_empty_tree_is_a_tree_without_words() -> None:
    text = "( )\n(S (NP (-NONE- *)))\n( (S (NN a)) )\n(())"
    assert [len(tree.words) for tree in read(text)] == [0, 0, 1, 0]


def test_other_blanks_belong_to_words() -> None:
    (tree,) = read("(NN 5\u00a0%)")
    assert tree.words == ("5\u00a0%",)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("(S (NN a))\n\n(S (NN b)", 3, "the file ends inside the tree that begins here"),
        ("(S (NN a)))\n", 1, "a closing bracket too many outside of a tree"),
        ("( (S (NN a))\n( (S\n (NN b)))\n", 2, "a tree begins inside the tree from line 1"),
        ("(S\n(NN a)\n(TOP (NN b)))", 3, "a tree begins inside the tree from line 1"),
        ("(S (NN a))\nNP (NN b)\n", 2, "text, 'NP', outside of a tree"),
        ("(S\n (NN a b))", 2, "a second text, 'b', in one bracket"),
        ("(S\n (NN a (NN b)))", 2, "a bracket after the word 'a'"),
        ("(S (NN a)\n b)", 2, "a second text, 'b', in one bracket"),
    ],
)
def test_what_is_not_a_tree_names_file_and_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(UserError) as error:
        read(text)
    assert str(error.value).startswith(f"x.mrg, line {line}: {problem}")
