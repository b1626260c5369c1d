import random

import pytest

from pipeline.dataset.tree_repair import repair
from pipeline.dataset.trees import is_valid


def repaired(symbols: str, words: str) -> str:
    return repair(symbols.split(), words.split()).brackets()


def test_a_valid_tree_stays() -> None:
    symbols = ["(S", "(NP", "DT", "NN", ")NP", "(VP", "VBZ", ")VP", ".", ")S"]
    assert repair(symbols, ["The", "dog", "sleeps", "."]).symbols == tuple(symbols)
    assert repaired("NN", "dog") == "(NN dog)"
    assert repaired("", "") == ""


@pytest.mark.parametrize(
    ("symbols", "words", "tree"),
    [
        ("(S (NP NN", "a", "(S (NP (NN a)))"),  # left open
        ("(S NN )NP", "a", "(S (NN a))"),  # another label
        ("(S NN )S )S )NP", "a", "(S (NN a))"),  # surplus brackets
        ("(S NN )S NN (NP NN )NP", "a b c", "(S (NN a) (NN b) (NP (NN c)))"),  # a root too early
        ("(S (NP NN )NP", "a b", "(S (NP (NN a)) (XX b))"),  # a tag too few
        ("(S NN (VP", "a b c", "(S (NN a) (VP (XX b) (XX c)))"),
        ("(S NN NN VB )S", "a", "(S (NN a))"),  # tags too many
        ("(S NN NN (VP VB )VP )S", "a b", "(S (NN a) (NN b))"),
        ("(S (NP )NP NN (VP (X )X )VP )S", "a", "(S (NN a))"),  # without a word
        ("NN VB", "a b", "(TOP (NN a) (VB b))"),  # no root
        (")S NN (VP VB )VP", "a b", "(TOP (NN a) (VP (VB b)))"),
        ("", "a", "(XX a)"),
        ("", "a b", "(TOP (XX a) (XX b))"),
        ("(S )S (NP NN )NP", "a", "(S (NP (NN a)))"),
        ("NN (S (X )X", "a", "(NN a)"),
        ("(S NN )S", "", ""),
    ],
)
def test_anything_else_becomes_a_tree_over_the_words(symbols: str, words: str, tree: str) -> None:
    assert repaired(symbols, words) == tree


def test_random_symbols_become_trees_and_change_exactly_if_they_were_none() -> None:
    generator = random.Random(1)
    valid = 0
    for _ in range(20_000):
        symbols = generator.choices(
            ["(S", ")S", "(NP", ")NP", "NN", "VB"], k=generator.randrange(9)
        )
        words = ["w"] * generator.randrange(5)
        tree = repair(symbols, words)
        assert is_valid(tree.symbols, len(words))
        was_valid = is_valid(symbols, len(words))
        assert (tree.symbols == tuple(symbols)) == was_valid
        valid += was_valid
    assert valid > 100
