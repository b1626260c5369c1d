"""Translations as Python values, read from the tensors that a translator gives."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from model.search.candidates import IMPOSSIBLE

Links = tuple[tuple[int, int], ...]


class Hypothesis(NamedTuple):
    """One of several translations of a sentence; see `Translation`."""

    text: str
    score: float
    alignment: Links | None = None
    word_confidence: tuple[float, ...] | None = None


class Translation(NamedTuple):
    """A translation.

    score: log-probability in nats, divided by the length penalty.
    source_tokens_cut: subwords cut off the end of a source that was too long.
    n_best: if several were asked for, all translations, best first.
    is_repaired: of a parser, whether its symbols had to be made a tree; else None.
    alignment: if asked for, links of words, counted from 0 on both sides: source, then target.
    word_confidence: if asked for, the probability of each word.
    """

    text: str
    score: float
    source_tokens_cut: int = 0
    n_best: tuple[Hypothesis, ...] = ()
    is_repaired: bool | None = None
    alignment: Links | None = None
    word_confidence: tuple[float, ...] | None = None


def read_translations(result: dict[str, tf.Tensor]) -> list[Translation]:
    """Reads the outputs of a translator for a batch: the best of each sentence, or the N best."""
    outputs = {name: tensor.numpy() for name, tensor in result.items()}
    cut = outputs.pop("source_tokens_cut").tolist()
    repaired = _read_repaired(outputs.pop("is_repaired", None), len(cut))
    if "translation" in outputs:
        best = _read_hypotheses(outputs)
        n_best: list[tuple[Hypothesis, ...]] = [()] * len(best)
    else:
        n_best = _read_n_best(outputs)
        best = [hypotheses[0] for hypotheses in n_best]
    return [
        Translation(one.text, one.score, tokens, several, is_repaired, *one[2:])
        for one, tokens, several, is_repaired in zip(best, cut, n_best, repaired, strict=True)
    ]


def drop_source_tag(result: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Renumbers alignments of tagged sentences to the words after the tag.

    Example: the links "0-0 2-1" become "1-1": the first was to the tag.
    """
    if "alignment" not in result:
        return result
    alignment = result["alignment"].numpy()
    renumbered = [_drop_tag(links.decode()) for links in alignment.ravel()]
    return {**result, "alignment": tf.reshape(tf.constant(renumbered, tf.string), alignment.shape)}


def parse_links(text: str) -> Links:
    """Returns the links of Pharaoh's format: "0-0 2-1" gives (0, 0) and (2, 1)."""
    pairs = (link.split("-") for link in text.split())
    return tuple((int(source), int(target)) for source, target in pairs)


def format_links(links: Links) -> str:
    """Returns links in Pharaoh's format."""
    return " ".join(f"{source}-{target}" for source, target in links)


def _drop_tag(links: str) -> str:
    return format_links(tuple((source - 1, word) for source, word in parse_links(links) if source))


def _read_repaired(is_repaired: np.ndarray | None, sentences: int) -> list[bool | None]:
    """Returns whether the best translation of each sentence was repaired."""
    if is_repaired is None:
        return [None] * sentences
    return (is_repaired[:, 0] if is_repaired.ndim == 2 else is_repaired).tolist()


def _read_n_best(outputs: dict[str, np.ndarray]) -> list[tuple[Hypothesis, ...]]:
    """Reads the hypotheses of each sentence; those that do not exist are left out."""
    renamed = {name.removesuffix("s"): values for name, values in outputs.items()}
    found = (
        _read_hypotheses({name: values[row] for name, values in renamed.items()})
        for row in range(len(renamed["score"]))
    )
    return [tuple(one for one in row if one.score > IMPOSSIBLE / 2) for row in found]


def _read_hypotheses(outputs: dict[str, np.ndarray]) -> list[Hypothesis]:
    """Reads hypotheses from outputs with a row for each."""
    hypotheses = []
    for row, text in enumerate(outputs["translation"]):
        links = confidence = None
        if "alignment" in outputs:
            links = parse_links(outputs["alignment"][row].decode())
        if "word_confidence" in outputs:
            words = len(text.split())  # at ASCII whitespace, as bytes
            confidence = tuple(outputs["word_confidence"][row, :words].tolist())
        score = float(outputs["score"][row])
        hypotheses.append(Hypothesis(text.decode("utf-8"), score, links, confidence))
    return hypotheses
