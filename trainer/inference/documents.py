"""Translation of running text: lines are split into sentences, and their translations joined.

A model learns from sentences, and translates longer text badly. Each line is a paragraph: line
breaks and blank lines stay as they are. A sentence that is still too long for the model is halved,
so that nothing is left out but the end of a word that is too long by itself.
"""

import importlib
import itertools
import re
from collections.abc import Callable, Sequence

import tensorflow as tf

from pipeline.common.errors import UserError
from trainer.inference.batching import Translate

SplitText = Callable[[str], list[str]]

_SENTENCES_PER_BATCH = 64
_WITHOUT_SPACES = frozenset({"ja", "km", "lo", "my", "th", "zh"})  # between sentences
_CLAUSE_ENDS = ",;:"


def load_splitter(language: str) -> SplitText:
    """Returns a function that splits a line of text into sentences, by the rules of a language.

    Args:
        language: code, such as "en"; an unknown one has the rules of related languages or English.

    Raises:
        UserError: sentencex is not installed.
    """
    try:
        sentencex = importlib.import_module("sentencex")
    except ImportError as error:
        raise UserError(
            "splitting text into sentences needs the sentencex package: pip install '.[sentences]'"
        ) from error
    return lambda text: sentencex.segment(language or "en", text)


def translate_documents(translate: Translate, split: SplitText, target_language: str) -> Translate:
    """Returns a function that translates lines of any number of sentences.

    Args:
        translate: translates sentences: `Translator.translate` or an exported `serving_default`.
        split: splits a line into sentences.
        target_language: code of the language whose sentences are joined.

    Returns:
        takes `text`, string `[B]`, and gives `translation`, string `[B]`, a line for each; `score`,
        float32 `[B]`, the mean of its sentences'; `source_tokens_cut`, int32 `[B]`, their sum.
    """
    space = "" if target_language in _WITHOUT_SPACES else " "

    def translate_lines(text: tf.Tensor) -> dict[str, tf.Tensor]:
        lines = [line.decode("utf-8") for line in text.numpy()]
        sentences = [[part for each in split(line) if (part := each.strip())] for line in lines]
        parts = iter(_translate_whole(translate, [*itertools.chain(*sentences)], space))
        rows = [[next(parts) for _ in line] for line in sentences]
        texts = [space.join(part[0] for part in row) for row in rows]
        scores = [_mean([part[1] for part in row]) for row in rows]
        return {
            "translation": tf.constant(texts, tf.string),
            "score": tf.constant(scores, tf.float32),
            "source_tokens_cut": tf.constant(
                [sum(part[2] for part in row) for row in rows], tf.int32
            ),
        }

    return translate_lines


def halve(sentence: str) -> tuple[str, str] | None:
    """Splits a sentence at a space: after a clause if one ends in its middle half.

    Example: "a b, c d e" gives "a b," and "c d e". None if there is no space.
    """
    spaces = [match.start() for match in re.finditer(r"\s+", sentence)]
    if not spaces:
        return None
    middle = len(sentence) / 2
    clauses = [
        space
        for space in spaces
        if sentence[space - 1] in _CLAUSE_ENDS and abs(space - middle) < middle / 2
    ]
    place = min(clauses or spaces, key=lambda space: abs(space - middle))
    return sentence[:place].rstrip(), sentence[place:].lstrip()


def _translate_whole(
    translate: Translate, sentences: Sequence[str], space: str
) -> list[tuple[str, float, int]]:
    """Translates sentences, in halves where they are too long: text, score, tokens cut."""
    translated = _translate_in_batches(translate, sentences)
    halves = {
        row: pair
        for row, (_, _, cut) in enumerate(translated)
        if cut and (pair := halve(sentences[row]))
    }
    if halves:
        parts = _translate_whole(
            translate, [half for pair in halves.values() for half in pair], space
        )
        for place, row in enumerate(halves):
            first, second = parts[2 * place : 2 * place + 2]
            text = space.join(filter(None, (first[0], second[0])))
            translated[row] = text, (first[1] + second[1]) / 2, first[2] + second[2]
    return translated


def _translate_in_batches(
    translate: Translate, sentences: Sequence[str]
) -> list[tuple[str, float, int]]:
    """Translates sentences in batches of similar length; keeps their order."""
    order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    translated: dict[int, tuple[str, float, int]] = {}
    for start in range(0, len(order), _SENTENCES_PER_BATCH):
        rows = order[start : start + _SENTENCES_PER_BATCH]
        result = translate(text=tf.constant([sentences[row] for row in rows]))
        columns = (result[name].numpy() for name in ("translation", "score", "source_tokens_cut"))
        for row, text, score, cut in zip(rows, *columns, strict=True):
            translated[row] = text.decode("utf-8"), float(score), int(cut)
    return [translated[row] for row in range(len(sentences))]


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores) if scores else 0.0
