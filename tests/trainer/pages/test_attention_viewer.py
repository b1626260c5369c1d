"""The viewer gets each weight under the tokens that it belongs to."""

import base64
import json

import numpy as np

from model.attention_maps import AttentionMaps
from tests.helpers.page_parsing import Page
from trainer.inference.sentence_attention import END, START, SentenceAttention
from trainer.pages.attention_viewer import viewers

LAYERS, HEADS, SOURCE, TARGET = 2, 3, 4, 5


def weights(queries: int, keys: int) -> np.ndarray:
    raw = 1.0 + np.arange(LAYERS * HEADS * queries * keys).reshape(LAYERS, HEADS, queries, keys) % 7
    return raw / raw.sum(axis=-1, keepdims=True)


SENTENCE = SentenceAttention(
    text="a < b",
    translation="c &amp d",
    source=["▁a", "▁<", "▁b", END],
    target=["▁c", "▁&", "amp", "▁d", END],
    links=((2, 0), (1, 2)),
    maps=AttentionMaps(weights(SOURCE, SOURCE), weights(TARGET, TARGET), weights(TARGET, SOURCE)),
)


def test_every_weight_reaches_the_script_to_a_byte() -> None:
    kinds = json.loads(Page(viewers([SENTENCE])).texts("script")[0])
    by_name = {kind["name"]: kind for kind in kinds}
    expected = {
        "Encoder": SENTENCE.maps.encoder,
        "Decoder": SENTENCE.maps.decoder,
        "Decoder to encoder": SENTENCE.maps.memory,
    }
    assert by_name.keys() == expected.keys()
    for name, maps in expected.items():
        kind = by_name[name]
        shape = (kind["layers"], kind["heads"], len(kind["queries"]), len(kind["keys"]))
        levels = np.frombuffer(base64.b64decode(kind["weights"]), np.uint8).reshape(shape)
        np.testing.assert_allclose(levels / 255, maps, atol=0.5 / 255)


def test_queries_and_keys_are_the_tokens_written_and_read() -> None:
    kinds = json.loads(Page(viewers([SENTENCE])).texts("script")[0])
    tokens = {kind["name"]: (kind["queries"], kind["keys"]) for kind in kinds}
    source, target = ["_a", "_<", "_b", END], ["_c", "_&", "amp", "_d", END]
    assert tokens["Encoder"] == (source, source)
    assert tokens["Decoder to encoder"] == (target, source)
    assert tokens["Decoder"] == (target, [START, "_c", "_&", "amp", "_d"])


def test_maps_have_titles_for_both_axes() -> None:
    kinds = json.loads(Page(viewers([SENTENCE])).texts("script")[0])
    titles = {kind["name"]: (kind["query_axis"], kind["key_axis"]) for kind in kinds}
    assert titles == {
        "Decoder to encoder": ("target: written", "source: attended to"),
        "Encoder": ("source: read", "source: attended to"),
        "Decoder": ("target: written", "target so far: attended to"),
    }


def test_sentences_are_shown_as_text() -> None:
    page = Page(viewers([SENTENCE, SENTENCE]))
    assert len(page.all("figure", "heads")) == 2
    assert page.texts("p")[1] == "a < b→ cb &amp d<"


def test_the_source_word_of_a_link_stands_above_its_word() -> None:
    page = Page(viewers([SENTENCE]))
    assert page.texts("ruby") == ["cb", "&amp", "d<"]
    assert page.texts("rt") == ["b", "", "<"]
