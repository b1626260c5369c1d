"""The attention weights of a translated sentence, with its subwords."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from absl import logging

from model.alignment import default_alignment_layer
from model.attention_maps import AttentionMaps, attention_maps
from pipeline.dataset.schema import PADDING_ID, SIDES
from pipeline.subwords.encoding import Subwords, load_subwords
from trainer.inference.translations import Links, parse_links
from trainer.inference.translator import Translator
from trainer.inference.words import link_words
from trainer.runs.run_directory import Run

START = "⟨start⟩"
END = "⟨end⟩"


@dataclasses.dataclass(frozen=True)
class SentenceAttention:
    """A sentence, its translation, and the attention weights of both.

    source, target: subwords, with the end symbol.
    links: which words of the translation come from which words of the text (`link_words`).
    maps: float32 arrays of this sentence alone, `[N, H, queries, keys]`.
    """

    text: str
    translation: str
    source: list[str]
    target: list[str]
    links: Links
    maps: AttentionMaps

    @property
    def target_read(self) -> list[str]:
        """The decoder's input at each position: the start symbol, then the previous subword."""
        return [START, *self.target[:-1]]


def attend_to_sentences(
    run: Run, translator: Translator, sentences: Sequence[str]
) -> list[SentenceAttention]:
    """Translates sentences and returns all attention weights of each.

    Args:
        run: has the subwords.
        translator: the model of the run.
        sentences: the source sentences.
    """
    source, target = (load_subwords(run.subwords_path(side)) for side in SIDES)
    return [_attend(translator, source, target, sentence) for sentence in sentences]


def attention_image(maps: AttentionMaps, kind: str, *, pixels: int = 4) -> np.ndarray:
    """Draws one kind of maps as an image: a row per layer, a column per head.

    Args:
        maps: those of a sentence, `[N, H, queries, keys]`.
        kind: a field of `AttentionMaps`.
        pixels: height and width of a weight.

    Returns:
        uint8 `[1, height, width, 1]`, TensorBoard's shape; a weight of 0 is white, of 1 black.
    """
    weights = np.asarray(getattr(maps, kind))
    framed = np.pad(weights, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=0.3)
    layers, heads, rows, columns = framed.shape
    picture = framed.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)
    picture = picture.repeat(pixels, axis=0).repeat(pixels, axis=1)
    return (255 * (1 - picture)).astype(np.uint8)[None, :, :, None]


def _attend(
    translator: Translator, source: Subwords, target: Subwords, sentence: str
) -> SentenceAttention:
    text = tf.constant([sentence])
    source_ids, (cut,) = translator.source_ids(text)
    if cut:
        logging.warning("a sentence was longer than --max_source_length and cut there")
    best = translator.search_ids(source_ids).tokens[:, 0]  # [1, T]
    target_ids = best[:, : tf.math.count_nonzero(best[0] != PADDING_ID)]
    maps = attention_maps(translator.transformer, source_ids, target_ids)
    outputs = translator.target_ops.translations(target_ids, text)
    (translation,) = outputs["translation"].numpy()
    is_tree = "is_repaired" in outputs
    return SentenceAttention(
        text=sentence,
        translation=translation.decode("utf-8"),
        source=[*source.pieces(source_ids[0, :-1].numpy()), END],
        target=[*target.pieces(target_ids[0, :-1].numpy()), END],
        links=() if is_tree else _link(translator, maps.memory, source_ids, target_ids),
        maps=AttentionMaps(*(np.asarray(weights)[:, 0] for weights in maps)),
    )


def _link(
    translator: Translator, memory_maps: tf.Tensor, source: tf.Tensor, target: tf.Tensor
) -> Links:
    """Returns the links of the words of one sentence and its translation."""
    layer = translator.alignment_layer or default_alignment_layer(len(memory_maps))
    links = link_words(
        tf.reduce_mean(memory_maps[layer - 1], axis=1),
        translator.source_ops.words.word_of_tokens(source),
        translator.target_ops.words.word_of_tokens(target),
    )
    return parse_links(links.numpy()[0].decode())
