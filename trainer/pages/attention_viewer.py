"""All heads of a sentence's attention, to explore by pointing (attention_viewer.js draws them)."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from trainer.inference.sentence_attention import SentenceAttention
from trainer.pages.html import escape, json_for_script

_NOTE = (
    "A row of small pictures is a layer, a column a head. In each picture a row is a query and a "
    "column a key; colour is weight, and the weights of a row add up to 1. Point at a picture to "
    "see it large, click to keep it, then point at its cells or at the tokens below it."
)
_LEVELS = 255  # a weight is one byte


def viewers(sentences: Sequence[SentenceAttention]) -> str:
    """Returns a note on how to read them, and a figure with every layer and head for each."""
    return "\n".join([f'<p class="note">{escape(_NOTE)}</p>', *map(_viewer, sentences)])


def _viewer(sentence: SentenceAttention) -> str:
    source, target, read = sentence.source, sentence.target, sentence.target_read
    kinds = [
        _kind("Decoder to encoder", "writing", target, source, sentence.maps.memory),
        _kind("Encoder", "reading", source, source, sentence.maps.encoder),
        _kind("Decoder", "writing", target, read, sentence.maps.decoder),
    ]
    return (
        f'<figure class="heads">\n<p>{escape(sentence.text)}<br>→ '
        f"{escape(sentence.translation)}</p>\n{json_for_script(kinds)}\n</figure>"
    )


def _kind(
    name: str, doing: str, queries: Sequence[str], keys: Sequence[str], weights: np.ndarray
) -> dict[str, Any]:
    """Describes weights, float `[N, H, queries, keys]`, to the script."""
    layers, heads = weights.shape[:2]
    levels = np.rint(weights * _LEVELS).astype(np.uint8)
    return {
        "name": name,
        "doing": doing,
        "queries": [_visible(token) for token in queries],
        "keys": [_visible(token) for token in keys],
        "layers": layers,
        "heads": heads,
        "weights": base64.b64encode(levels.tobytes()).decode("ascii"),
    }


def _visible(token: str) -> str:
    """Shows the mark of a word's start as a low line that every font has."""
    return token.replace("\u2581", "_")
