"""Translate: the Beam transform from sentences to translations, for other people's pipelines.

    import beamformer as bf

    with beam.Pipeline(options=options) as pipeline:
        news = pipeline | beam.io.ReadFromText("gs://bucket/news.en")
        news | bf.Translate("gs://bucket/saved_model") | beam.Map(lambda each: each.translation)

`trainer.translate --runner=…` does not use it: its lines keep their order, its finished blocks
survive a kill, and it translates with runs and prefixes too. Its elements are blocks of a file.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.utils.shared import Shared
from apache_beam.utils.windowed_value import WindowedValue

from pipeline.common import storage
from trainer.bulk_translation.blocks import Model, translate_lines

if TYPE_CHECKING:
    from trainer.inference.batching import Translate as TranslateBatch

_NAMESPACE = "beamformer"


class TranslatedSentence(NamedTuple):
    """A sentence and its translation.

    score: log-probability in nats, divided by the length penalty.
    """

    source: str
    translation: str
    score: float


class Translate(beam.PTransform):
    """Translates each sentence with a SavedModel that `trainer.export` wrote.

    Input: strings, or pairs of any key and a string. Output: a `TranslatedSentence` of each, in its
    window and with its timestamp; of a pair, the key and the `TranslatedSentence`. A sentence that
    is longer than the model's limit is cut there and counted.

    Sentences of a bundle are sorted by length and translated in batches. The model is loaded once
    per worker process, and fetched once per machine if it is at a URL. Workers need
    `beamformer[train]`. Counters: `sentences`, `sentences_cut`.

    Raises:
        UserError: on a worker: there is no SavedModel.
    """

    def __init__(self, saved_model: str, *, sentences_at_once: int = 2_000) -> None:
        """Translates with a model.

        Args:
            saved_model: its directory, which every worker sees under this path, or a URL.
            sentences_at_once: how many sentences of a bundle are sorted and translated together.
        """
        super().__init__()
        self._saved_model = saved_model
        self._sentences_at_once = sentences_at_once

    def expand(self, sentences: beam.PCollection) -> beam.PCollection:
        """Returns the translations of a collection of sentences."""
        options = sentences.pipeline.options.get_all_options(drop_default=True)
        function = TranslateBundle(Model(self._saved_model), self._sentences_at_once, options)
        return sentences | "TranslateBundle" >> beam.ParDo(function)


class TranslateBundle(beam.DoFn):
    """Translates the sentences of a bundle together."""

    def __init__(self, model: Model, sentences_at_once: int, options: Mapping[str, Any]) -> None:
        """Takes the model, and the pipeline options that the workers' file systems need."""
        self._model = model
        self._sentences_at_once = sentences_at_once
        self._options = options
        self._shared = Shared()
        self._translated = Metrics.counter(_NAMESPACE, "sentences")
        self._cut = Metrics.counter(_NAMESPACE, "sentences_cut")

    def setup(self) -> None:
        """Loads the model, unless another thread of this process has."""
        storage.connect(self._options)
        self._loaded = self._shared.acquire(functools.partial(_LoadedModel, self._model))

    def start_bundle(self) -> None:
        """Begins with no sentences."""
        self._waiting: list[WindowedValue] = []

    def process(
        self,
        element: Any,
        timestamp: Any = beam.DoFn.TimestampParam,
        window: Any = beam.DoFn.WindowParam,
    ) -> Iterator[Any]:  # of windowed values; Beam would take them for the elements' type
        """Keeps a sentence; yields translations when enough sentences wait."""
        self._waiting.append(WindowedValue(element, timestamp, (window,)))
        if len(self._waiting) >= self._sentences_at_once:
            yield from self.finish_bundle()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Yields the translations of the sentences that wait."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        sentences = [_sentence(each.value) for each in waiting]
        # The runner already has a worker per core.
        translations = translate_lines([sentences], self._loaded.translate, batches_at_once=1)
        self._translated.inc(len(translations))
        self._cut.inc(sum(each.source_tokens_cut > 0 for each in translations))
        for each, sentence, (text, score, *_) in zip(waiting, sentences, translations, strict=True):
            result = TranslatedSentence(sentence, text, score)
            is_alone = isinstance(each.value, str)
            yield each.with_value(result if is_alone else (each.value[0], result))


class _LoadedModel:
    """A model in memory; an object that can be shared, as a function of TensorFlow's cannot."""

    def __init__(self, model: Model) -> None:
        self.translate: TranslateBatch = model.load()


def _sentence(element: Any) -> str:
    """Returns the sentence of an element.

    Raises:
        TypeError: it is neither a string nor a pair whose second part is one.
    """
    sentence = element[1] if isinstance(element, tuple) and len(element) == 2 else element
    if not isinstance(sentence, str):
        raise TypeError(f"received {element!r:.80}: expected a string, or a key and a string")
    return sentence
