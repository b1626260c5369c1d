from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pipeline.dataset.schema import Dataset
from trainer.inference.scoring import score_all
from trainer.inference.translator import Translator

PAIRS = [
    ("The old dog sleeps.", "Der alte Hund schl\u00e4ft."),
    ("", ""),
    ("Why?", "Warum " * 40),
    ("Yes.", "Ja."),
    ("word " * 60, "Wort"),
    ("word " * 60, ""),
]


def test_a_pair_has_the_score_of_the_pair_alone_whatever_the_batches(
    translator: Translator, tiny_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    subwords = Path(tiny_dataset.path("subwords.model"))
    sources, targets = map(list, zip(*PAIRS, strict=True))
    tokens: list[int] = []
    token_log_probs = translator.token_log_probs

    def count(source: np.ndarray, target: np.ndarray) -> tf.Tensor:
        tokens.append(max(source.size, target.size))
        return token_log_probs(source, target)

    monkeypatch.setattr(translator, "token_log_probs", count)
    together = list(
        score_all(translator, subwords, sources, targets, pairs_per_block=4, tokens_per_batch=24)
    )
    longest = max(len(pair.tokens) for pair in together)
    assert len(tokens) > 3
    assert sorted(tokens)[-1] == longest > 24 >= sorted(tokens)[-2]
    for source, target, pair in zip(sources, targets, together, strict=True):
        (alone,) = score_all(translator, subwords, [source], [target])
        assert alone.tokens == pair.tokens
        np.testing.assert_allclose(alone.token_log_probs, pair.token_log_probs, rtol=1e-4)
        assert alone.score == pytest.approx(pair.score, rel=1e-4)
    assert list(score_all(translator, subwords, [], [])) == []
