import random

import tensorflow as tf

from pipeline.dataset.tree_repair import repair
from pipeline.dataset.trees import is_valid
from trainer.inference.tree_ops import build_trees

_PIECES = ["(S", ")S", "(NP", ")NP", "(TOP", ")TOP", "NN", ".", "-LRB-"]
_WORDS = ["dog", "(", "a(b)", "ünder", "5\u00a0%", "\\1"]


@tf.function(
    input_signature=[
        tf.RaggedTensorSpec([None, None], tf.string),
        tf.TensorSpec([None], tf.string),
    ]
)
def build(symbols: tf.RaggedTensor, sentences: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return build_trees(symbols, sentences)


def check(symbols: list[list[str]], words: list[list[str]]) -> int:
    """Compares a batch with the repair in Python; returns how many trees needed none."""
    ragged = tf.ragged.constant(symbols, ragged_rank=1, dtype=tf.string)
    texts, repaired = build(ragged, tf.constant([" ".join(row) for row in words], tf.string))
    trees = [repair(*pair) for pair in zip(symbols, words, strict=True)]
    assert [text.decode() for text in texts.numpy()] == [tree.brackets() for tree in trees]
    valid = [is_valid(row, len(row_words)) for row, row_words in zip(symbols, words, strict=True)]
    assert (~repaired.numpy()).tolist() == valid
    return sum(valid)


def _random_tree(generator: random.Random, words: int) -> list[str]:
    """Returns a valid tree: words joined at random."""
    parts = [[generator.choice(["NN", ".", "-LRB-"])] for _ in range(words)]
    while len(parts) > 1 or generator.random() < 0.3:
        start = generator.randrange(len(parts))
        stop = generator.randrange(start, len(parts)) + 1
        label = generator.choice(["S", "NP", "TOP"])
        inner = [symbol for part in parts[start:stop] for symbol in part]
        parts[start:stop] = [[f"({label}", *inner, f"){label}"]]
    return parts[0]


def test_random_symbols_give_the_trees_of_the_python_code() -> None:
    generator = random.Random(2)
    symbols = [generator.choices(_PIECES, k=generator.randrange(12)) for _ in range(3_000)]
    words = [generator.choices(_WORDS, k=generator.randrange(5)) for _ in symbols]
    assert check(symbols, words) > 10


def test_damaged_trees_too() -> None:
    generator = random.Random(3)
    words = [generator.choices(_WORDS, k=generator.randrange(1, 9)) for _ in range(1_000)]
    symbols = [_random_tree(generator, len(row)) for row in words]
    assert check(symbols, words) == 1_000
    for tree in symbols:
        for _ in range(generator.randrange(3)):
            place = generator.randrange(len(tree) + 1)
            tree[place : place + generator.randrange(2)] = generator.choices(
                _PIECES, k=generator.randrange(2)
            )
    assert 200 < check(symbols, words) < 900


def test_batches_may_be_empty() -> None:
    assert check([], []) == 0
    assert check([[], []], [[], []]) == 2
    assert check([[], ["(S"]], [["a", "b"], ["c"]]) == 0
