import pytest

from pipeline.dataset.trees import Tree, is_valid, join, parse

SYMBOLS = "(S (NP DT NN )NP (VP VBZ )VP . )S"
WORDS = "The dog sleeps ."
BRACKETS = "(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))"


def test_symbols_and_words_make_the_bracketed_tree() -> None:
    tree = join(SYMBOLS, WORDS)
    assert tree.brackets() == BRACKETS
    assert tree.tags == ["DT", "NN", "VBZ", "."]
    assert join("NN", "dog").brackets() == "(NN dog)"
    assert join("", "") == Tree((), ())


def test_brackets_in_words_are_escaped() -> None:
    assert join("(X NN )X", "a(b)").brackets() == "(X (NN a-LRB-b-RRB-))"


@pytest.mark.parametrize(
    ("symbols", "words"),
    [
        ("(S NN )S", "two words"),
        ("(S NN NN )S", "one"),
        ("(S NN", "unclosed"),
        ("NN )S", "unopened"),
        ("(S NN )NP", "crossed"),
        ("(S (NP )NP NN )S", "hollow"),
        ("(S NN )S (S )S", "hollow"),
        ("NN NN", "two roots"),
        ("(S NN )S (S NN )S", "two roots"),
        ("", "nothing"),
    ],
)
def test_what_is_not_one_tree_over_the_words_is_refused(symbols: str, words: str) -> None:
    assert not is_valid(symbols.split(), len(words.split()))
    with pytest.raises(ValueError, match="expected one tree over"):
        join(symbols, words)


def test_a_bracketed_tree_is_read_again() -> None:
    assert parse(BRACKETS) == join(SYMBOLS, WORDS)
    assert parse("(NN dog)") == join("NN", "dog")
    assert parse("(X (-LRB- -LRB-) (TOP (`` ``)))").symbols == (
        "(X",
        "-LRB-",
        "(TOP",
        "``",
        ")TOP",
        ")X",
    )


@pytest.mark.parametrize(
    "text", ["(S (NN a)", "(S (NN a)))", "(S )", "a", "(NN a) (NN b)", "(S (NN a) b)"]
)
def test_what_is_not_a_bracketed_tree_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a tree such as"):
        parse(text)
