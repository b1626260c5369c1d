"""Interactive maps of all heads of a sentence's attention; attention_viewer.js draws them."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from trainer.inference.sentence_attention import SentenceAttention
from trainer.pages.html import escape, json_for_script, page

_NOTE = (
    "Each row of small maps is a layer, each column a head. In a map, each row is a query and each "
    "column a key; colour is weight, and the weights of a row add up to 1. Point at a small map to "
    "enlarge it, click to keep it, then point at its cells or at the tokens below it. Above each "
    "word of a translation stands the source word that it is aligned with."
)
_LEVELS = 255  # a weight is one byte


def attention_page(sentences: Sequence[SentenceAttention], *, name: str, step: int) -> str:
    """Returns a page with the attention of sentences.

    Args:
        sentences: what to show.
        name: of the run.
        step: of its checkpoint.
    """
    return page(
        f"Attention of {name}, step {step:,}",
        {"Every layer and head": viewers(sentences)},
        scripts=["attention_viewer.js"],
    )


def viewers(sentences: Sequence[SentenceAttention]) -> str:
    """Returns a note on how to read the maps, and for each sentence a figure with every head."""
    return "\n".join([f'<p class="note">{escape(_NOTE)}</p>', *map(_viewer, sentences)])


def _viewer(sentence: SentenceAttention) -> str:
    source, target, read = sentence.source, sentence.target, sentence.target_read
    maps = sentence.maps
    kinds = [
        {
            "name": "Decoder to encoder",
            "doing": "writing",
            "query_axis": "target: written",
            "key_axis": "source: attended to",
            **_encode(target, source, maps.memory),
        },
        {
            "name": "Encoder",
            "doing": "reading",
            "query_axis": "source: read",
            "key_axis": "source: attended to",
            **_encode(source, source, maps.encoder),
        },
        {
            "name": "Decoder",
            "doing": "writing",
            "query_axis": "target: written",
            "key_axis": "target so far: attended to",
            **_encode(target, read, maps.decoder),
        },
    ]
    return (
        f'<figure class="heads">\n<p>{escape(sentence.text)}<br>→ '
        f"{_annotate(sentence)}</p>\n{json_for_script(kinds)}\n</figure>"
    )


def _annotate(sentence: SentenceAttention) -> str:
    """Returns the translation, each word with the source word that it is linked to above it."""
    if not sentence.links:  # a tree
        return escape(sentence.translation)
    sources = dict((target, source) for source, target in sentence.links)
    source_words, words = _split(sentence.text), _split(sentence.translation)
    annotated = []
    for number, word in enumerate(words):
        above = source_words[sources[number]] if number in sources else ""
        annotated.append(f"<ruby>{escape(word)}<rt>{escape(above)}</rt></ruby>")
    return " ".join(annotated)


def _split(text: str) -> list[str]:
    """Returns the words that links count: separated by ASCII whitespace."""
    return [word.decode() for word in text.encode().split()]


def _encode(queries: Sequence[str], keys: Sequence[str], weights: np.ndarray) -> dict[str, Any]:
    """Encodes weights, float `[N, H, queries, keys]`, for the script."""
    layers, heads = weights.shape[:2]
    levels = np.rint(weights * _LEVELS).astype(np.uint8)
    return {
        "queries": [_visible(token) for token in queries],
        "keys": [_visible(token) for token in keys],
        "layers": layers,
        "heads": heads,
        "weights": base64.b64encode(levels.tobytes()).decode("ascii"),
    }


def _visible(token: str) -> str:
    """Replaces the mark of a word's start by a low line, which every font has."""
    return token.replace("\u2581", "_")
