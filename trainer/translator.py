"""Text to text in one graph: subwords, encoder, beam search, subwords back (§6.1).

Evaluation, `trainer.translate` and the exported SavedModel all run this module, so they give the
same translations.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from model.config import SearchConfig
from model.search import Translations
from model.transformer import Transformer
from pipeline.errors import UserError
from pipeline.schema import END_ID, SIDES
from trainer.checkpoint_files import Checkpoint
from trainer.checkpoints import find_checkpoint, load_weights
from trainer.run_directory import Run
from trainer.startup import silent_stderr
from trainer.text_ops import TextOps, load_text_ops

Translate = Callable[..., dict[str, tf.Tensor]]

_SENTENCES_PER_BATCH = 64


class Translation(NamedTuple):
    """A translation, and its log-probability in nats divided by the length penalty."""

    text: str
    score: float


class Translator(tf.Module):
    """A trained model that takes and gives text."""

    def __init__(
        self,
        transformer: Transformer,
        source_ops: TextOps,
        target_ops: TextOps,
        search: SearchConfig,
    ) -> None:
        """Joins a model, the subwords of both sides and how to search."""
        super().__init__(name="translator")
        self.transformer = transformer
        self.source_ops = source_ops
        self.target_ops = target_ops
        self.search = search

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Translates sentences.

        Args:
            text: string `[B]`, UTF-8, one sentence each.

        Returns:
            `translation`, string `[B]`, the best of the search; `score`, float32 `[B]`, its
            log-probability in nats divided by the length penalty.
        """
        found = self.search_ids(self.source_ops.tokenize(text))
        return {
            "translation": self.target_ops.detokenize(found.tokens[:, 0]),
            "score": found.scores[:, 0],
        }

    def search_ids(self, source: tf.Tensor) -> Translations:
        """Searches for translations of ids, int32 `[B, S]`, each ending in the end symbol."""
        return self.transformer.search(source, self.search, end_id=END_ID)


def make_transformer(run: Run) -> Transformer:
    """Makes a run's model with fresh weights."""
    source, target = (run.vocabularies[side] for side in SIDES)
    return Transformer(
        run.transformer,
        target.size,
        source_vocabulary_size=None if source == target else source.size,
    )


def make_translator(run: Run, transformer: Transformer) -> Translator:
    """Makes a translator of a run's model, with the run's subwords and search."""
    paths = [run.subwords_path(side) for side in SIDES]
    ops = {path: load_text_ops(path) for path in {*paths}}  # one for both if they share one
    return Translator(transformer, ops[paths[0]], ops[paths[1]], run.search)


def load_translator(
    run: Run, checkpoint_name: str, config: SearchConfig
) -> tuple[Translator, Checkpoint]:
    """Loads a run's model to translate with, in float32.

    Args:
        run: a run that has checkpoints.
        checkpoint_name: see `trainer.checkpoints.find_checkpoint`.
        config: how to search.

    Raises:
        UserError: if the run has no such checkpoint.
    """
    checkpoint = find_checkpoint(run.directory, checkpoint_name)
    transformer = make_transformer(run)
    load_weights(checkpoint, transformer)
    return make_translator(dataclasses.replace(run, search=config), transformer), checkpoint


def load_saved_model(directory: str) -> Translate:
    """Loads what `trainer.export` wrote, with the Text ops that it needs.

    Raises:
        UserError: if there is no SavedModel in `directory`.
    """
    if not (Path(directory) / "saved_model.pb").exists():
        raise UserError(
            f"no SavedModel in {directory} (it has no saved_model.pb): "
            f"make one with python -m trainer.export --output_dir={directory} --run_dir=…"
        )
    with silent_stderr():
        model = tf.saved_model.load(directory)
    translate = model.signatures["serving_default"]
    translate.keep_alive = model  # a signature alone would let go of the variables
    return translate


def translate_all(translate: Translate, sentences: Sequence[str]) -> list[Translation]:
    """Translates any number of sentences in batches of similar length, and keeps their order.

    Args:
        translate: `Translator.translate`, or an exported model's `serving_default`.
        sentences: one sentence each.
    """
    order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    translations: dict[int, Translation] = {}
    for start in range(0, len(order), _SENTENCES_PER_BATCH):
        rows = order[start : start + _SENTENCES_PER_BATCH]
        result = translate(text=tf.constant([sentences[row] for row in rows]))
        texts, scores = result["translation"].numpy(), result["score"].numpy()
        for row, text, score in zip(rows, texts, scores, strict=True):
            translations[row] = Translation(text.decode("utf-8"), float(score))
    return [translations[row] for row in range(len(sentences))]
