"""What the page to try a model shows of each sentence, from a run or from an exported model."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from model.config import SearchConfig
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModels
from trainer.runtime.startup import start_tensorflow

if TYPE_CHECKING:
    from trainer.inference.sentence_attention import SentenceAttention
    from trainer.inference.translations import Translation


@dataclasses.dataclass(frozen=True)
class Answer:
    """A sentence and its translations.

    translations: text and score of each, best first.
    tokens_cut: subwords cut off the end of a sentence that was too long.
    attention: of the best translation, if it was asked for.
    """

    source: str
    translations: tuple[tuple[str, float], ...]
    tokens_cut: int = 0
    attention: "SentenceAttention | None" = None


@dataclasses.dataclass(frozen=True)
class AnswerSentences:
    """A model that answers.

    name: of the model, for the title.
    source_language, target_language: language codes; "" if unknown.
    answer: translates sentences; the first answer has the attention of a run.
    """

    name: str
    source_language: str
    target_language: str
    answer: Callable[[Sequence[str]], list[Answer]]


def answer_with_run(run: Run, models: TrainedModels, search: SearchConfig) -> AnswerSentences:
    """Loads a run: translations, as many as the beam is wide, and attention."""
    start_tensorflow(for_search=True)
    from trainer.inference.batching import translate_all
    from trainer.inference.sentence_attention import attend_to_sentences
    from trainer.inference.translator import load_translator

    translator, checkpoint = load_translator(run, models, search)

    def answer(sentences: Sequence[str]) -> list[Answer]:
        translated = translate_all(translator.translate_nbest, sentences)
        first, *others = map(_to_answer, sentences, translated)
        if not first.source.strip():
            return [first, *others]
        (attention,) = attend_to_sentences(run, translator, [first.source])
        return [dataclasses.replace(first, attention=attention), *others]

    name = f"{run.directory.name}, step {checkpoint.step:,}"
    return AnswerSentences(name, run.data.source_language, run.data.target_language, answer)


def answer_with_saved_model(directory: str) -> AnswerSentences:
    """Loads an exported model, which gives no attention."""
    start_tensorflow(for_search=True)
    from trainer.exporters.result import read_languages
    from trainer.exporters.saved_model import load_saved_model
    from trainer.inference.batching import translate_all

    translate = load_saved_model(directory, "translate_nbest")

    def answer(sentences: Sequence[str]) -> list[Answer]:
        return list(map(_to_answer, sentences, translate_all(translate, sentences)))

    return AnswerSentences(directory, *read_languages(directory), answer)


def _to_answer(sentence: str, translation: "Translation") -> Answer:
    hypotheses = tuple((text, score) for text, score, *_ in translation.n_best)
    return Answer(sentence, hypotheses, translation.source_tokens_cut)
