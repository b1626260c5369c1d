"""The figures of the page, drawn from what our functions compute, and the paper's tables."""

import math
from collections.abc import Callable, Sequence

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from model.attention import attention_weights
from model.config import TransformerConfig
from model.masks import causal_mask, number_sentences, sentence_mask, window_mask
from model.positions import SinusoidalPositions
from trainer.pages.charts import Axis, Curve, line_chart
from trainer.pages.diagrams import heat_map
from trainer.pages.html import table
from trainer.paper import architecture
from trainer.paper.results import TABLE_3
from trainer.paper.system_table import system_lines
from trainer.training.learning_rate import learning_rate
from trainer.training.loss import cross_entropy, smoothing_mass

BASE = TransformerConfig()
# Three sentences in a row, then padding: 1 is the end symbol, 0 padding.
ROW = np.array([[7, 5, 9, 1, 6, 1, 8, 4, 1, 0]])
_KEYS, _QUERIES = 32, 64
_SUBWORDS = 64


def draw_figures() -> dict[str, str]:
    """Returns the figures by the names that `trainer.paper.sections` has."""
    return {name: f'<div class="diagrams">{draw()}</div>' for name, draw in _FIGURES.items()}


def masks() -> str:
    """Returns the masks of three sentences in a row."""
    sentences = number_sentences(ROW)
    own, past = sentence_mask(sentences, sentences), causal_mask(ROW.shape[1])
    names = [{0: "·", 1: "end"}.get(token, f"w{token}") for token in ROW[0].tolist()]
    return "".join(
        heat_map(title, "a row is a query", _matrix(mask), side=16, rows=names)
        for title, mask in (
            ("Causal mask", past),
            ("Sentence mask", own),
            ("Both: the decoder's", past & own),
        )
    )


def windows() -> str:
    """Returns the window mask of several sizes, and what two layers of it reach."""
    length, size = 16, 5
    window = _matrix(window_mask(length, size))
    reach = ((np.array(window) @ np.array(window)) > 0).astype(float)
    return "".join(
        [
            heat_map(f"r = {size}", "one layer", window),
            heat_map(f"r = {size}", "two layers: paths of two steps", reach.tolist()),
        ]
    )


def positions() -> str:
    """Returns the sinusoids as a map and as curves, and their wavelengths."""
    small = SinusoidalPositions(TransformerConfig(model_dim=64))
    vectors = ops.convert_to_numpy(small(np.arange(100)))
    curves = [
        Curve(f"dimension {index}", _points(range(100), vectors[:, index])) for index in (4, 12, 20)
    ]
    pairs = range(0, BASE.model_dim // 2, 5)
    wavelengths = [2 * math.pi * 10000 ** (2 * i / BASE.model_dim) for i in pairs]
    return "".join(
        [
            heat_map(
                "Sinusoids", "40 positions down, d_model = 64 across", vectors[:40].tolist(), side=6
            ),
            line_chart("Sinusoids", "d_model = 64", curves, across=Axis(name="position")),
            line_chart(
                "Wavelengths",
                "tokens; dashed: 1,024 tokens",
                [
                    Curve("d_model = 512", _points(pairs, wavelengths)),
                    Curve("1,024", [(0, 1024.0), (max(pairs), 1024.0)]),
                ],
                axis=Axis(log_scale=True),
                across=Axis(name="pair of dimensions"),
            ),
        ]
    )


def scaling() -> str:
    """Returns how peaked attention is at random, with and without the division by √d_k."""
    sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    random = np.random.default_rng(1)
    mask = np.ones((1, 1, 1, _KEYS), bool)
    ours: list[float] = []
    unscaled: list[float] = []
    for size in sizes:
        query, key = (random.normal(size=(1, 1, count, size)).astype("float32")
                      for count in (_QUERIES, _KEYS))  # fmt: skip
        for results, factor in ((ours, 1.0), (unscaled, math.sqrt(size))):
            weights = ops.convert_to_numpy(attention_weights(query * factor, key, mask))
            results.append(float(weights.max(axis=-1).mean()))
    return line_chart(
        "Largest of 32 attention weights",
        "mean over random queries",
        [
            Curve("softmax(q k / √d_k)", _points(sizes, ours)),
            Curve("softmax(q k)", _points(sizes, unscaled)),
        ],
        axis=Axis(covers=(0, 1)),
        across=Axis(log_scale=True, name="d_k"),
    )


def rates() -> str:
    """Returns equation 3 for three models."""
    steps = [1, *range(250, 20_001, 250)]
    settings = ((512, 4000), (512, 8000), (1024, 4000))
    return line_chart(
        "Learning rate",
        "over updates",
        [
            Curve(
                f"d_model {size:,}, warm-up {warmup:,}",
                [(s, float(learning_rate(s, model_dim=size, warmup_steps=warmup))) for s in steps],
            )
            for size, warmup in settings
        ],
        axis=Axis(covers=(0,)),
    )


def smoothing() -> str:
    """Returns the loss of a token by the probability of the right subword."""
    percent = [*range(2, 98, 3), 98, 99]
    curves = []
    for rate in (0.0, 0.1, 0.2):
        mass = smoothing_mass(rate, over="all", vocabulary_size=_SUBWORDS)
        losses = [_token_loss(share / 100, mass) for share in percent]
        curves.append(Curve(f"ε = {rate:g}", _points(percent, losses)))
    return line_chart(
        "Smoothed loss of a token",
        f"nats, V = {_SUBWORDS}; the others equally probable",
        curves,
        axis=Axis(covers=(0,)),
        across=Axis(covers=(0, 100), name="percent for the right subword"),
    )


def table_2() -> str:
    """Returns Table 2."""
    header, *rows = system_lines(())
    return table(header, rows, classes="numbers")


def table_3() -> str:
    """Returns Table 3 with the flagfile of each row."""
    header = ["row", "flagfile", "perplexity", "BLEU", "parameters, M"]
    rows = ((row.group, row.flagfile, row.perplexity, row.bleu, row.parameters) for row in TABLE_3)
    return table(header, rows)


def _token_loss(probability: float, mass: float) -> float:
    """Returns the loss where the right subword has a probability and the others share the rest."""
    logits = np.full((1, 1, _SUBWORDS), math.log((1 - probability) / (_SUBWORDS - 1)), "float32")
    logits[0, 0, 5] = math.log(probability)
    loss, _ = cross_entropy(
        tf.constant(logits), tf.eye(_SUBWORDS), tf.constant([[5]]), label_smoothing=mass
    )
    return float(loss)


def _matrix(mask: keras.KerasTensor) -> list[list[float]]:
    """Returns a mask `[1, 1, T, S]` as numbers."""
    rows: list[list[float]] = ops.convert_to_numpy(mask)[0, 0].astype(float).tolist()
    return rows


def _points(xs: Sequence[float], ys: Sequence[float]) -> list[tuple[float, float]]:
    return [(x, float(y)) for x, y in zip(xs, ys, strict=True)]


_FIGURES: dict[str, Callable[[], str]] = {
    "architecture": lambda: architecture.architecture(BASE),
    "scaling": scaling,
    "multi_head": lambda: architecture.multi_head(BASE),
    "masks": masks,
    "positions": positions,
    "windows": windows,
    "learning_rate": rates,
    "smoothing": smoothing,
    "table_2": table_2,
    "table_3": table_3,
}
